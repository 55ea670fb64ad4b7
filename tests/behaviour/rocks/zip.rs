//! Archives, as far as `.src.rock` files need them: files that are stored as they are.

/// An archive of the files: names and contents.
pub(super) fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let begins = length(&archive);
        // Versions, flags, method, time and date: nothing special, on the first day that there is.
        let common = [
            &[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..],
            &crc32(text.as_bytes()).to_le_bytes(),
            &length(text.as_bytes()).to_le_bytes(),
            &length(text.as_bytes()).to_le_bytes(),
            &length(name.as_bytes()).to_le_bytes()[..2],
            &[0, 0],
        ]
        .concat();
        archive.extend_from_slice(b"PK\x03\x04");
        archive.extend_from_slice(&common);
        archive.extend_from_slice(name.as_bytes());
        archive.extend_from_slice(text.as_bytes());
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend_from_slice(&common);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&begins.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let count = &length(files).to_le_bytes()[..2];
    let begins = length(&archive).to_le_bytes();
    let size = length(&directory).to_le_bytes();
    archive.extend_from_slice(&directory);
    let end = [b"PK\x05\x06\0\0\0\0", count, count, &size, &begins, &[0, 0]];
    archive.extend_from_slice(&end.concat());
    archive
}

fn length<T>(of: &[T]) -> u32 {
    of.len().try_into().unwrap()
}

fn crc32(bytes: &[u8]) -> u32 {
    let rest = bytes.iter().fold(u32::MAX, |rest, byte| {
        (0..8).fold(rest ^ u32::from(*byte), |rest, _| {
            let is_odd = rest & 1 == 1;
            (rest >> 1) ^ if is_odd { 0xedb8_8320 } else { 0 }
        })
    });
    !rest
}
