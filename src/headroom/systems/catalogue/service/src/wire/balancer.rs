//! The header of the PROXY protocol, version 2: a balancer states the address of its client.
//!
//! Source: W. Tarreau, The PROXY protocol, versions 1 and 2, section 2.2. Checksums and other
//! extensions are skipped. Version 1, which is text, is refused.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The first bytes of a header.
pub const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Longest rest of a header (bytes): addresses take 36, extensions of known balancers a few hundred.
const MAX_REST_BYTES: usize = 2048;

/// Read a header and not a byte more. Return the client's address, or nothing if the balancer
/// itself connects, as for a health check.
///
/// # Errors
///
/// If the connection fails or the bytes are not a header of version 2 for TCP.
pub async fn read<R: AsyncRead + Unpin>(reader: &mut R) -> io::Result<Option<SocketAddr>> {
    let mut head = [0; 16];
    reader.read_exact(&mut head).await?;
    let length = usize::from(u16::from_be_bytes([head[14], head[15]]));
    if head[..12] != SIGNATURE || head[12] >> 4 != 2 {
        return Err(invalid("not a PROXY header of version 2"));
    }
    if length > MAX_REST_BYTES {
        return Err(invalid("the PROXY header is too long"));
    }
    let mut rest = vec![0; length];
    reader.read_exact(&mut rest).await?;
    source(head[12] & 15, head[13], &rest)
}

fn source(command: u8, family: u8, rest: &[u8]) -> io::Result<Option<SocketAddr>> {
    match (command, family) {
        (0, _) | (1, 0x00) => Ok(None),
        (1, 0x11) => {
            let [a, b, c, d, _, _, _, _, high, low, _, _] = *first(rest)?;
            let ip = Ipv4Addr::new(a, b, c, d);
            Ok(Some(address(ip.into(), high, low)))
        }
        (1, 0x21) => {
            let block: &[u8; 36] = first(rest)?;
            let ip = Ipv6Addr::from(*first::<16>(block)?);
            Ok(Some(address(ip.into(), block[32], block[33])))
        }
        _ => Err(invalid("the PROXY header is not about a TCP connection")),
    }
}

fn first<const COUNT: usize>(bytes: &[u8]) -> io::Result<&[u8; COUNT]> {
    let cut = || invalid("the PROXY header is shorter than its addresses");
    bytes.first_chunk().ok_or_else(cut)
}

fn address(ip: IpAddr, high: u8, low: u8) -> SocketAddr {
    SocketAddr::new(ip, u16::from_be_bytes([high, low]))
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
        [&SIGNATURE, &[0x20 | command, family][..], &length, rest].concat()
    }

    #[tokio::test]
    async fn an_address_is_read_and_what_follows_is_left() {
        let rest = [
            192, 0, 2, 7, 10, 0, 0, 1, 0x30, 0x39, 0x22, 0x76, 4, 0, 1, 0,
        ];
        let sent = [&header(1, 0x11, &rest), &b"plain\n"[..]].concat();
        let mut reader = &sent[..];
        let found = read(&mut reader).await.unwrap();
        assert_eq!(found, Some("192.0.2.7:12345".parse().unwrap()));
        assert_eq!(reader, b"plain\n");
    }

    #[tokio::test]
    async fn an_address_of_version_6_is_read() {
        let mut rest = [0; 36];
        (rest[15], rest[33]) = (1, 9);
        let found = read(&mut &header(1, 0x21, &rest)[..]).await.unwrap();
        assert_eq!(found, Some("[::1]:9".parse().unwrap()));
    }

    #[tokio::test]
    async fn a_health_check_has_no_client() {
        for (command, family) in [(0, 0), (0, 0x11), (1, 0)] {
            let sent = header(command, family, &[0; 12]);
            assert_eq!(read(&mut &sent[..]).await.unwrap(), None);
        }
    }

    #[tokio::test]
    async fn other_headers_are_refused() {
        let mut version_3 = header(1, 0x11, &[0; 12]);
        version_3[12] = 0x31;
        let refused = [
            b"PROXY TCP4 192.0.2.7 10.0.0.1 12345 8822\r\n".to_vec(),
            version_3,
            header(2, 0x11, &[0; 12]),
            header(1, 0x12, &[0; 12]),
            header(1, 0x31, &[0; 216]),
            header(1, 0x11, &[0; 11]),
            header(1, 0x21, &[0; 35]),
            header(1, 0x11, &[0; MAX_REST_BYTES + 1]),
            header(1, 0x11, &[0; 12])[..20].to_vec(),
        ];
        for sent in refused {
            assert!(read(&mut &sent[..]).await.is_err(), "{sent:?}");
        }
    }
}
