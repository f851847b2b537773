package sdk_test

import (
	"reflect"
	"slices"

	"github.com/ramet-run/ramet/api"
)

// query is a type of the SDKs with parameters that stand behind the question mark of an
// address: by what a list is narrowed down, and what it is told beside that.
type query struct {
	name   string
	of     string // the query that it has more than; "" is none
	params reflect.Type
}

// queries are those of the SDKs, each behind that of which it is more.
var queries = []query{
	{name: "JobFilter", params: reflect.TypeFor[api.JobFilter]()},
	{name: "JobQuery", of: "JobFilter", params: reflect.TypeFor[api.ListJobsParams]()},
}

// fields are its own parameters. The SDKs turn pages and count by themselves.
func (q query) fields() (list []reflect.StructField) {
	taken := []string{"", "cursor", "count"}
	for _, below := range queries {
		if below.name == q.of {
			for _, f := range api.FieldsOf(below.params) {
				taken = append(taken, f.Tag.Get("query"))
			}
		}
	}
	for _, f := range api.FieldsOf(q.params) {
		if !slices.Contains(taken, f.Tag.Get("query")) {
			list = append(list, f)
		}
	}
	return list
}
