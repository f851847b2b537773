// Package openapi describes the operations of package api as an OpenAPI 3.1 document, and
// that as a page to read. Both are made when Ramet is built from its source, not when it
// runs: field comments are read from the source, and the templates of the page would make
// the program larger by 15 MB. Package docs has what was made, for the door to serve.
//
//	api.Table ──┐
//	            ├──> Write ──> docs/openapi.json ──> Page ──> docs/reference.html
//	comments ───┘
//
// A struct in Go is a schema under components/schemas, by its name. What is always there,
// and what may be null, is read off the zero value as encoding/json writes it, so that
// types that write themselves are described as they do. Where a request says more or less
// than an answer does, the schema for requests is called <Name>-Input: a field that it does
// not know is refused, where readers of answers had better pass over it.
//
// The package has no goroutines.
package openapi
