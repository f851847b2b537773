// Package api is what goes over the wire, the same at every door and in every client:
// parameters, results, filters, events, and the table from kinds of errors to what is
// shown of them. It imports package domain only, so that a program that speaks to a node
// brings no engine along.
//
//	client ──> api, domain <── service ──> work, flow, saga, …
//	door ────────────┘            ^
//	   └──────────────────────────┘
//
// An operation is a value, such as [JobCancel], with all that there is to know of it; [Table]
// has them all. What does them is package service. A parameter is a field of the parameter
// struct: tagged `path` and `query` where it stands in the address of the HTTP door, by
// its JSON name in the body otherwise.
//
// The package has no goroutines.
package api
