// Package docs has the description of the page's API, which the page serves.
package docs

import _ "embed"

// OpenAPI is openapi.json.
//
//go:embed openapi.json
var OpenAPI []byte
