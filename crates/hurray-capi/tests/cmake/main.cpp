// The library from C++: what is opaque in smart pointers, errors as exceptions.

#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

#include <hurray.h>

namespace {

void need(std::int32_t status)
{
    if (status != HURRAY_OK) {
        throw std::runtime_error(hurray_last_error());
    }
}

struct Free {
    void operator()(hurray_descriptor *descriptor) const { hurray_descriptor_free(descriptor); }
    void operator()(hurray_builder *builder) const { hurray_builder_free(builder); }
};

using Descriptor = std::unique_ptr<hurray_descriptor, Free>;
using Builder = std::unique_ptr<hurray_builder, Free>;

Descriptor dense(std::uint8_t dtype, const std::vector<std::uint64_t> &shape)
{
    hurray_builder *started = nullptr;
    need(hurray_builder_new(dtype, nullptr, shape.data(), shape.size(), &started));
    Builder builder(started);
    hurray_descriptor *built = nullptr;
    need(hurray_builder_build(builder.get(), &built));
    return Descriptor(built);
}

} // namespace

int main()
{
    Descriptor descriptor = dense(HURRAY_DTYPE_BFLOAT16, {4, 5});
    if (hurray_descriptor_data_bytes(hurray_descriptor_borrow(descriptor.get())) != 40) {
        return 1;
    }
    try {
        dense(0xFF, {1});
    } catch (const std::runtime_error &error) {
        std::cout << "refused: " << error.what() << "\n";
        return std::strstr(error.what(), "[type.invalid-tag]") != nullptr ? 0 : 1;
    }
    return 1;
}
