//! The description of all this for programs: `OpenAPI` 3.1.

use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, OpenApi as Document, Ref, ResponseBuilder};
use utoipa::{Modify, OpenApi};

use super::problem::Problem;
use super::{directories, entries};

#[derive(OpenApi)]
#[openapi(
    info(title = "Headroom catalogue", description = "A metadata catalogue: entries in \
        directories, with values of attributes."),
    paths(
        super::health,
        super::ready,
        directories::list,
        directories::create,
        directories::remove,
        directories::attributes,
        directories::add_attribute,
        directories::remove_attribute,
        entries::get,
        entries::put,
        entries::patch,
        entries::delete,
        entries::list,
        entries::insert,
        entries::get_many,
        entries::exist,
        entries::query,
    ),
    components(schemas(Problem)),
    modifiers(&Additions)
)]
struct Api;

struct Additions;

impl Modify for Additions {
    fn modify(&self, document: &mut Document) {
        let components = document.components.get_or_insert_default();
        for (name, scheme) in [
            ("token", HttpAuthScheme::Bearer),
            ("password", HttpAuthScheme::Basic),
        ] {
            let scheme = SecurityScheme::Http(Http::new(scheme));
            components.add_security_scheme(name, scheme);
        }
        for (path, item) in &mut document.paths.paths {
            let operations = [
                &mut item.get,
                &mut item.put,
                &mut item.post,
                &mut item.delete,
                &mut item.patch,
            ];
            for operation in operations.into_iter().flatten() {
                complete(operation, path.starts_with("/v1/"));
            }
        }
    }
}

/// Add what operations have in common: who may ask, and the refusals.
fn complete(operation: &mut Operation, is_command: bool) {
    let content = Content::new(Some(Ref::from_schema_name("Problem")));
    let refused = ResponseBuilder::new()
        .description("refused")
        .content("application/problem+json", content)
        .build();
    let responses = &mut operation.responses.responses;
    responses.insert("default".to_owned(), refused.into());
    if is_command {
        let scheme = |name: &str| SecurityRequirement::new(name, Vec::<String>::new());
        // The last one: the guest, or the certificate of the connection.
        operation.security = Some(vec![
            scheme("token"),
            scheme("password"),
            SecurityRequirement::default(),
        ]);
    }
}

/// Return the description.
pub(super) fn document() -> Document {
    Api::openapi()
}
