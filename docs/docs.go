// Package docs carries what the program serves of this folder.
package docs

import _ "embed"

// OpenAPI is the description of the HTTP door; see package api/openapi, which makes it.
//
//go:embed openapi.json
var OpenAPI []byte

// Reference is the same as a page to read.
//
//go:embed reference.html
var Reference []byte
