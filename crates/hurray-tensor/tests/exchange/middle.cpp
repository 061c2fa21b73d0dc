#include "hurray_abi.hpp"

#include "middle.h"

using hurray::abi::Buffer;
using hurray::abi::Owned;
using hurray::abi::Producer;
using hurray::abi::Tensor;

namespace {

template <class Owner, class Raw>
void hand_on(Raw *from, Raw *out) {
    Owner first(from);
    Owner second;
    second = std::move(first);
    Owner(std::move(second)).move_to(out);
}

} // namespace

void middle_tensor(HurrayTensor *from, HurrayTensor *out) {
    hand_on<Tensor>(from, out);
}

void middle_buffer(HurrayBuffer *from, HurrayBuffer *out) {
    hand_on<Buffer>(from, out);
}

void middle_producer(HurrayProducer *from, HurrayProducer *out) {
    hand_on<Producer>(from, out);
}

int32_t middle_produce(HurrayTensor *from, HurrayTensor *out) {
    Producer producer = hurray::abi::export_producer({}, [from](const HurrayRequest &) { return Tensor(from); });
    const HurrayRequest request = hurray::abi::any_request();
    return producer->produce(producer.get(), &request, out);
}
