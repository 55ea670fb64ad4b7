//! How large an image is, read from its first bytes.
//!
//! Sources: PNG (RFC 2083, 11.2.2), GIF89a (section 18), JPEG (ITU T.81, B.2.2), WebP container
//! (RFC 9649, 2.5 to 2.7).

/// Pixels of the longer side; `None` if the bytes do not say.
pub(super) fn longer(bytes: &[u8]) -> Option<u32> {
    let (width, height) = match bytes {
        [0x89, b'P', b'N', b'G', ..] => (be32(bytes, 16)?, be32(bytes, 20)?),
        [b'G', b'I', b'F', b'8', ..] => (le(bytes, 6, 2)?, le(bytes, 8, 2)?),
        [0xFF, 0xD8, 0xFF, ..] => jpeg(bytes)?,
        [b'R', b'I', b'F', b'F', ..] => webp(bytes)?,
        _ => return None,
    };
    Some(width.max(height))
}

/// The frame header's sides; segments before it are skipped.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        // Any number of fill bytes may precede a marker.
        while *bytes.get(at)? == 0xFF && *bytes.get(at + 1)? == 0xFF {
            at += 1;
        }
        if *bytes.get(at)? != 0xFF {
            return None;
        }
        match bytes.get(at + 1)? {
            0xC4 | 0xC8 | 0xCC => {}
            0xC0..=0xCF => return Some((be16(bytes, at + 7)?, be16(bytes, at + 5)?)),
            0xD9 | 0xDA => return None,
            _ => {}
        }
        at += 2 + be16(bytes, at + 2)? as usize;
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    Some(match bytes.get(12..16)? {
        b"VP8X" => (le(bytes, 24, 3)? + 1, le(bytes, 27, 3)? + 1),
        b"VP8L" => {
            let bits = le(bytes, 21, 4)?;
            ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        }
        b"VP8 " => (le(bytes, 26, 2)? & 0x3FFF, le(bytes, 28, 2)? & 0x3FFF),
        _ => return None,
    })
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(four))
}

fn be16(bytes: &[u8], at: usize) -> Option<u32> {
    let two = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(u32::from(u16::from_be_bytes(two)))
}

/// A little-endian number of up to four bytes.
fn le(bytes: &[u8], at: usize, len: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + len)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | u32::from(byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_longer_side_is_read_from_each_type() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x1f\x41\0\0\0\x02".to_vec();
        let gif = b"GIF89a\x03\0\x41\x1f".to_vec();
        let jpeg = b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xFF\xC2\0\x11\x08\0\x02\x1f\x41".to_vec();
        let riff = |rest: &[u8]| [b"RIFF\0\0\0\0WEBP", rest].concat();
        let extended = riff(b"VP8X\x0a\0\0\0\0\0\0\0\x40\x1f\0\x01\0\0");
        // 8,001 is 14 bits less one, and so is 2.
        let lossless = riff(b"VP8L\0\0\0\0\x2f\x40\x5f\0\0");
        let lossy = riff(b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x41\x1f\x02\0");
        for image in [png, gif, jpeg, extended, lossless, lossy] {
            assert_eq!(longer(&image), Some(8_001), "{image:?}");
        }
        assert_eq!(longer(b"%PDF-1.7"), None);
    }

    const STARTS: &[&[u8]] = &[
        b"\x89PNG",
        b"GIF8",
        b"\xFF\xD8\xFF",
        b"RIFF0000WEBPVP8X",
        b"RIFF0000WEBPVP8L",
        b"RIFF0000WEBPVP8 ",
    ];

    proptest! {
        #[test]
        fn no_bytes_are_a_panic(
            start in proptest::sample::select(STARTS),
            rest in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            longer(&[start, &rest].concat());
        }
    }
}
