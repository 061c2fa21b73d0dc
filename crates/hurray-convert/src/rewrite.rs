//! A Hurray file written anew.

use std::io::Write;

use hurray_tensor::format::{ALIAS_KEY, CHECKSUM_KEY};
use hurray_tensor::{File, FileWriter};

use crate::error::{Error, Result};
use crate::file::{self, Window};
use crate::piece::{Meter, as_length};
use crate::report::{Changed, Report};
use crate::save::{ConvertOptions, Progress};

/// Writes a Hurray file anew, with another alignment, a sorted index, checksums or none.
/// Tensors keep their order, descriptors and bytes; key-values and aliases stay. Data is
/// compared with the checksums it has before it gets new ones.
///
/// ```
/// use hurray_convert::tensor::{File, WriteOptions, save};
/// use hurray_convert::{ConvertOptions, rewrite};
/// # use hurray_convert::format::{Descriptor, Dtype};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("model.hrry");
/// # let descriptor = Descriptor::dense(Dtype::UInt8, &[1])?;
/// # save(&path, WriteOptions::default(), |file| file.tensor("w", &descriptor, &[&[7]]))?;
///
/// let options = ConvertOptions { alignment: 65_536, sorted: true, ..Default::default() };
/// let file = File::open(&path)?;
/// hurray_convert::save(&path, |out| rewrite(&file, out, &options, &mut |_, _| {}))?;
/// assert_eq!(File::open(&path)?.get("w")?.buffer_ranges()[0].start, 65_536);
/// # Ok::<(), hurray_convert::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Tensor`]: the rules the file breaks, those of composites and checksums included,
/// and what the system refuses; `file.kv.key-too-long` for a name that leaves no room for the
/// key of its checksums.
pub fn rewrite(
    file: &File,
    out: impl Write,
    options: &ConvertOptions,
    progress: Progress<'_>,
) -> Result<Report> {
    file::check_keys(file)?;
    file.composites()?;
    let mut report = Report::default();
    let kept = |key: &str| !key.starts_with(CHECKSUM_KEY);
    let key_values = file.kv().iter().any(|(key, _)| kept(key));
    let options = options.write(key_values, Some(as_length(file.len())));
    let mut writer = FileWriter::new(out, options)?;
    for (key, value) in file.kv().iter() {
        if let Some(tensor) = key.strip_prefix(CHECKSUM_KEY) {
            if !options.checksums {
                report.change(tensor, Changed::Checksums);
            }
        } else if !key.starts_with(ALIAS_KEY) {
            writer.key_value(key, &value)?;
        }
    }
    let mut meter = Meter::start(file::data_bytes(file.container().index().iter()), progress);
    for tensor in file.in_file_order() {
        let tensor = tensor?;
        writer.tensor_from(tensor.name(), tensor.descriptor(), &mut |place, out| {
            file::copy(file, &tensor, place, Window::ALL, out, &mut meter).map_err(Error::carried)
        })?;
        file::report_newer(&tensor, &mut report);
        report.copied(tensor.descriptor().data_bytes());
    }
    for (name, tensor) in file.kv().aliases() {
        writer.alias(name, tensor)?;
        report.alias(name, tensor);
    }
    writer.finish()?;
    Ok(report)
}
