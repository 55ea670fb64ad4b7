//! Attachments as providers take them, and what stands for those that they refuse.

mod side;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pantograph::{Attachment, Attachments};
use serde::{Serialize, Serializer};

/// The image types that providers with images take, but for Google.
pub(crate) const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Why an attachment that alone has too many bytes is left out.
pub(crate) const TOO_LARGE: &str = "it is too large to be sent";

/// Which attachments a protocol takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileRule {
    /// The types of images.
    pub(crate) images: &'static [&'static str],
    pub(crate) pdf: bool,
    /// Bytes of one attachment as base64.
    pub(crate) max_encoded: usize,
}

/// What attachments may be, and be together, beside what each protocol takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileLimits {
    /// Pixels of an image's longer side, and of each if there are more than so many attachments.
    pub(crate) side: u32,
    pub(crate) side_of_many: (usize, u32),
    /// Bytes of one image as base64, where documents may be larger.
    pub(crate) max_image: usize,
    pub(crate) max_files: usize,
    /// Bytes of all as base64.
    pub(crate) max_bytes: usize,
}

impl FileLimits {
    /// Any number of any images that are common.
    pub(crate) const NONE: Self = Self {
        side: u32::MAX,
        side_of_many: (usize::MAX, u32::MAX),
        max_image: usize::MAX,
        max_files: usize::MAX,
        max_bytes: usize::MAX,
    };

    /// Pixels of the longer side of one of so many.
    pub(crate) fn max_side(self, files: usize) -> u32 {
        let (few, side) = self.side_of_many;
        match files > few {
            true => side,
            false => self.side,
        }
    }
}

/// An attachment that can leave.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct File {
    pub(crate) media_type: String,
    /// Base64, with padding.
    pub(crate) data: String,
}

impl File {
    /// Whether it is an image, and not a document.
    pub(crate) fn is_image(&self) -> bool {
        self.media_type.starts_with("image/")
    }
}

/// A file as the URL that holds it, written without a copy of the data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataUrl<'a>(pub(crate) &'a File);

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let File { media_type, data } = self.0;
        serializer.collect_str(&format_args!("data:{media_type};base64,{data}"))
    }
}

/// Reads an attachment; what cannot leave becomes a text that says so to the model.
pub(crate) fn encode(
    attachment: &Attachment,
    rule: FileRule,
    max_side: u32,
    model_takes: Attachments,
) -> Result<File, String> {
    let named = attachment.media_type.as_str();
    if !model_takes.takes(named) {
        return Err(left_out(
            named,
            match (model_takes, named.starts_with("image/")) {
                (Attachments::NONE, _) => "this model takes no attachments",
                (_, true) => "this model takes no images",
                (_, false) => "this model takes only images",
            },
        ));
    }
    let Ok(bytes) = attachment.bytes() else {
        return Err(left_out(named, "its file can no longer be read"));
    };
    if bytes.is_empty() {
        return Err(left_out(named, "it is empty"));
    }
    // Providers refuse an image whose bytes are of another type than they were told.
    let media_type = match named.starts_with("image/") {
        true => Attachment::image_type(&bytes).unwrap_or(named),
        false => named,
    };
    let fits = rule.images.contains(&media_type) || (rule.pdf && media_type == "application/pdf");
    if !fits {
        return Err(left_out(media_type, "it is of a type that cannot be sent"));
    }
    if bytes.len().div_ceil(3) * 4 > rule.max_encoded {
        return Err(left_out(media_type, TOO_LARGE));
    }
    if side::longer(&bytes).is_some_and(|side| side > max_side) {
        let why = format!("no side may have more than {max_side} pixels");
        return Err(left_out(media_type, &why));
    }
    Ok(File {
        media_type: media_type.to_owned(),
        data: STANDARD.encode(&bytes),
    })
}

/// What a model reads in place of an attachment.
pub(crate) fn left_out(media_type: &str, why: &str) -> String {
    format!("[an attachment of type {media_type} was left out: {why}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: FileRule = FileRule {
        images: IMAGES,
        pdf: true,
        max_encoded: 16,
    };

    #[test]
    fn what_cannot_leave_becomes_a_text() {
        let png = [0x89, b'P', b'N', b'G', 1];
        let case = |media_type: &str, bytes: &[u8], takes| match encode(
            &Attachment::new(media_type, bytes.to_vec()),
            RULE,
            100,
            takes,
        ) {
            Ok(file) => format!("{} {}", file.media_type, file.data),
            Err(text) => text,
        };
        let all = Attachments::ALL;
        let images = Attachments {
            documents: false,
            ..all
        };
        let documents = Attachments {
            images: false,
            ..all
        };
        let gone = Attachment::from_file("image/png", "/nonexistent/image.png");
        let shown = [
            case("image/png", &png, all),
            case("image/jpeg", &png, all),
            case("image/png", b"0123", all),
            case("image/png", &[1; 20], all),
            case("image/png", &[], all),
            case("image/bmp", b"BM", all),
            case("image/png", &png, Attachments::NONE),
            case("application/pdf", b"%PDF", images),
            case("image/png", &png, images),
            case("image/png", &png, documents),
            case("application/pdf", b"%PDF", documents),
            encode(&gone, RULE, 100, all).unwrap_err(),
        ];
        insta::assert_snapshot!(shown.join("\n"), @r"
        image/png iVBORwE=
        image/png iVBORwE=
        image/png MDEyMw==
        [an attachment of type image/png was left out: it is too large to be sent]
        [an attachment of type image/png was left out: it is empty]
        [an attachment of type image/bmp was left out: it is of a type that cannot be sent]
        [an attachment of type image/png was left out: this model takes no attachments]
        [an attachment of type application/pdf was left out: this model takes only images]
        image/png iVBORwE=
        [an attachment of type image/png was left out: this model takes no images]
        application/pdf JVBERg==
        [an attachment of type image/png was left out: its file can no longer be read]
        ");
    }
}
