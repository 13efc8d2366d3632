//! The name rule: a proxy is named like its issuer, with one more CN (section 3.4).

use x509_parser::asn1_rs::{Any, FromDer as _};
use x509_parser::prelude::X509Certificate;
use x509_parser::x509::{RelativeDistinguishedName, X509Name};

use super::ProxyError;

const COMMON_NAME: &str = "2.5.4.3";

/// Check the name of a proxy. Names are compared byte by byte, as issuers copy them.
pub(super) fn check(
    proxy: &X509Certificate<'_>,
    issuer: &X509Certificate<'_>,
) -> Result<(), ProxyError> {
    let (child, stated, parent) = (proxy.subject(), proxy.issuer(), issuer.subject());
    let is_right = stated.as_raw() == parent.as_raw()
        && parts(parent).is_some_and(|parent| {
            let added = parts(child).and_then(|child| child.strip_prefix(parent));
            !parent.is_empty() && added.is_some_and(is_one_common_name)
        });
    is_right.then_some(()).ok_or(ProxyError::Name)
}

fn parts<'a>(name: &'a X509Name<'_>) -> Option<&'a [u8]> {
    Some(Any::from_der(name.as_raw()).ok()?.1.data)
}

fn is_one_common_name(der: &[u8]) -> bool {
    let Ok(([], part)) = RelativeDistinguishedName::from_der(der) else {
        return false;
    };
    let kinds: Vec<_> = part
        .iter()
        .map(|attribute| attribute.attr_type().to_id_string())
        .collect();
    kinds == [COMMON_NAME]
}
