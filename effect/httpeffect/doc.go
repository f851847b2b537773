// Package httpeffect does effects of kind http: one request to an address that
// the operator wrote down, with the payload as its body.
//
// What a payload can say is filled into the path, the query or the body, each
// escaped as its place wants it. Scheme, host and port are the operator's and
// redirects to others are not followed, so that no payload chooses who is
// called.
//
// The package has no goroutines but those of net/http.
package httpeffect
