//! `cargo xtask header`: `hurray.h`, from the sources of hurray-capi.
//!
//! cbindgen reads one source file at a time, so that the header has the sections that the crate
//! has, in an order a reader can follow. The tags are written from the format's own tables.

mod tags;

use std::fmt::Write;

use cbindgen::{Builder, Config, DocumentationStyle, ItemType, Language, Style};

use crate::{
    Outcome,
    generated::{Mode, settle},
    run,
};

const CRATE: &str = "crates/hurray-capi";
const HEADER: &str = "crates/hurray-capi/include/hurray.h";

pub(crate) fn command(arguments: &[String]) -> Outcome {
    generate(Mode::from_arguments(arguments)?)
}

pub(crate) fn generate(mode: Mode) -> Outcome {
    settle(&run::root().join(HEADER), header()?.as_bytes(), mode)
}

/// The sections, each with the source file it is made from.
const SECTIONS: &[(&str, &str)] = &[
    ("library", "The library"),
    ("rules", "Rules"),
    ("accept", "What a reader accepts"),
    ("verdict", "Verdicts"),
    ("dtype", "Element types"),
    ("buffer", "Buffers"),
    ("descriptor", "Descriptors"),
    ("fields", "What a descriptor says"),
    ("layout", "Layouts"),
    ("quantization", "Quantization"),
    ("locate", "Where an element lies"),
    ("builder", "New descriptors"),
    ("tensor", "Tensors"),
    ("view", "Elements, parts and turns"),
    ("exchange", "Handing tensors over, and taking them"),
    ("producer", "Producers"),
    ("composite", "Composites"),
    ("file", "Files"),
    ("file_tensor", "Tensors of a file"),
    ("key_value", "Key-values"),
    ("writer", "Writing files"),
];

fn header() -> Outcome<String> {
    let mut text = run::read(&run::root().join(CRATE).join("src/preamble.h"))?;
    write!(text, "{}{}", rule("The format's own tags"), tags::defines()?)?;
    let opaque = SECTIONS.iter().map(|(module, _)| declarations(module, &[ItemType::OpaqueItems]));
    let opaque = opaque.collect::<Outcome<Vec<_>>>()?;
    let opaque: Vec<&str> = opaque.iter().map(|item| item.trim()).collect();
    let opaque =
        opaque.into_iter().filter(|item| !item.is_empty()).collect::<Vec<_>>().join("\n\n");
    writeln!(text, "{}{opaque}", rule("What the library keeps for you"))?;
    let visible = [ItemType::Constants, ItemType::Structs, ItemType::Typedefs, ItemType::Functions];
    for (module, title) in SECTIONS {
        text.push_str(&rule(title));
        writeln!(text, "{}", declarations(module, &visible)?.trim())?;
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    Ok(text)
}

/// The items of one source file.
fn declarations(module: &str, items: &[ItemType]) -> Outcome<String> {
    let mut config = Config {
        language: Language::C,
        style: Style::Both,
        documentation_style: DocumentationStyle::C99,
        no_includes: true,
        usize_is_size_t: true,
        tab_width: 4,
        line_length: WIDTH,
        ..Config::default()
    };
    let source = run::root().join(CRATE).join("src").join(module).with_extension("rs");
    config.export.item_types = items.to_vec();
    // By itself cbindgen takes no struct that no call of the same file uses.
    let code = run::read(&source)?;
    let structs = code.lines().filter_map(|line| line.strip_prefix("pub struct Hurray"));
    let names = structs.filter_map(|rest| rest.split_once(' '));
    config.export.include = names.map(|(name, _)| format!("Hurray{name}")).collect();
    let bindings = Builder::new().with_config(config).with_src(source).generate()?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    Ok(plain_names(&String::from_utf8(text)?))
}

const WIDTH: usize = 104;

/// Every struct has a typedef; where one is used, that alone is its name. (cbindgen says so of
/// the types of other files, which it does not know, and says `struct` before those of this one.)
fn plain_names(text: &str) -> String {
    let mut plain = String::new();
    for line in text.lines() {
        match line.starts_with("typedef struct") {
            true => plain.push_str(line),
            false => plain.push_str(
                &line.replace("struct Hurray", "Hurray").replace("struct hurray", "hurray"),
            ),
        }
        plain.push('\n');
    }
    plain
}

/// The line that begins a section.
fn rule(title: &str) -> String {
    let dashes = "-".repeat(WIDTH.saturating_sub(title.len()).saturating_sub(12));
    format!("\n/* ---- {title} {dashes} */\n\n")
}
