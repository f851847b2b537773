package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file makes the document: paths, and what stands beside the schemas.

const about = `Ramet runs jobs, flows and sagas. This is its HTTP door, of every node alike.

{context} is a context's number or its alias. HEAD is wherever GET is. Bodies are JSON in UTF-8, and a field that an
operation does not know is refused. Answers may have fields in later versions that they do not have now.

x-repeat of an operation says whether a client may send a request once more by itself, when no answer came or one of 429,
502, 503 or 504: always; with_key, under the Idempotency-Key of the first time; or never. After any other answer nothing is
sent again.

/health, /ready, /info and /metrics are the node's own and not described here.`

// Write is the document, as it is kept.
func Write(c *Comments) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(newDocument(c))
	return b.Bytes(), err
}

func newDocument(c *Comments) object {
	s := newSchemas(c)
	paths, tags := object{}, []object{}
	for _, o := range api.Table {
		at, there := paths[o.Path].(object)
		if !there {
			at = object{}
			paths[o.Path] = at
		}
		at[strings.ToLower(o.Method)] = s.operation(o)
		if tag := (object{"name": o.Group()}); !slices.ContainsFunc(tags, func(t object) bool { return t["name"] == tag["name"] }) {
			tags = append(tags, tag)
		}
	}
	problem := s.of(reflect.TypeFor[api.Problem](), false)
	return object{
		"openapi":  "3.1.0",
		"info":     object{"title": "Ramet", "version": "1", "description": about, "license": object{"name": "Apache 2.0", "identifier": "Apache-2.0"}},
		"servers":  []object{{"url": "/"}},
		"tags":     tags,
		"security": []object{{"token": []string{}}},
		"paths":    paths,
		"components": object{
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer",
				"description": "A token that its actor has signed; `ramet token` makes one."}},
			"parameters": parameters,
			"headers":    headers,
			"responses":  responses(problem),
			"schemas":    s.all(),
		},
	}
}

// operation describes one.
func (s *schemas) operation(o *api.Operation) object {
	description := "Needs the right to " + string(o.Right) + "."
	if o.Right.OnNode() {
		description = "Needs the right to " + string(o.Right) + " on the node."
	}
	if strings.Contains(o.Path, "{worker}") && Repeat(o) == "never" { // asked for leases that a worker has or wants
		description += " A client never sends it again by itself: only the worker knows whether its leases leave the time for that, " +
			"and asks again as long as they do."
	}
	described := object{
		"operationId": o.Name, "tags": []string{o.Group()}, "summary": o.Summary, "description": description,
		"responses": s.answers(o), "x-repeat": Repeat(o),
	}
	params := reflect.TypeOf(o.NewParams()).Elem()
	path, query, body := o.Write(o.Example)
	var inAddress []object
	var inBody []reflect.StructField
	for _, f := range api.FieldsOf(params) {
		switch name := f.Tag.Get("path") + f.Tag.Get("query"); {
		case f.Tag.Get("path") != "":
			inAddress = append(inAddress, s.parameter(params, f, object{"name": name, "in": "path", "required": true, "example": pathExample(o, path, name, f.Type)}))
		case name != "":
			p := object{"name": name, "in": "query"}
			if query.Has(name) {
				p["example"] = typed(query.Get(name), f.Type)
			}
			inAddress = append(inAddress, s.parameter(params, f, p))
		default:
			inBody = append(inBody, f)
		}
	}
	slices.SortStableFunc(inAddress, func(a, b object) int { return cmp.Compare(a["in"].(string), b["in"].(string)) })
	if len(o.Selectable().Names) > 0 {
		inAddress = append(inAddress, object{"$ref": "#/components/parameters/" + api.FieldsParam})
	}
	for _, name := range headersOf(o, params) {
		inAddress = append(inAddress, object{"$ref": "#/components/parameters/" + name})
	}
	if len(inAddress) > 0 {
		described["parameters"] = inAddress
	}
	if len(inBody) > 0 {
		described["requestBody"] = object{"required": true, "content": object{"application/json": object{
			"schema": s.body(params, inBody), "example": body,
		}}}
	}
	return described
}

// body is a reference to what the body of parameters is like.
func (s *schemas) body(params reflect.Type, fields []reflect.StructField) object {
	if _, made := s.in[params]; !made {
		schema := s.structure(params, fields, true)
		schema["description"] = s.comments.of(params)
		s.in[params] = schema
	}
	return object{"$ref": &reference{s, params, true}}
}

// parameter adds to p what is known of a field that stands in the address.
func (s *schemas) parameter(params reflect.Type, f reflect.StructField, p object) object {
	p["schema"] = s.of(f.Type, true)
	if f.Type == reflect.TypeFor[domain.TenantID]() {
		p["schema"] = object{"anyOf": []object{p["schema"].(object), {"type": "string"}}}
	}
	text := s.comments.ofField(params, f)
	if f.Type == reflect.TypeFor[domain.TenantID]() {
		text = cmp.Or(text, "The context's number, or its alias.")
	}
	if text != "" {
		p["description"] = text
	}
	return p
}

// pathExample is what stands for a parameter in the path of the example.
func pathExample(o *api.Operation, path, name string, t reflect.Type) any {
	at := slices.Index(strings.Split(o.Path, "/"), "{"+name+"}")
	text, err := url.PathUnescape(strings.Split(path, "/")[at])
	if err != nil {
		panic("BUG: " + o.Name + ": " + err.Error())
	}
	return typed(text, t)
}

// typed is a parameter as it is in JSON.
func typed(text string, t reflect.Type) any {
	switch t.Kind() {
	case reflect.String:
		return text
	case reflect.Bool:
		return text == "true"
	}
	return json.Number(text)
}

// headersOf are the headers that an operation looks at, by their names in the components.
func headersOf(o *api.Operation, params reflect.Type) (names []string) {
	at, query := false, map[string]bool{}
	for _, f := range api.FieldsOf(params) {
		query[f.Tag.Get("query")] = true
		at = at || f.Tag.Get("path") == "context" || f.Tag.Get("query") == "context"
	}
	if at {
		names = append(names, "X-Tenant-Id")
	}
	if o.Creates() {
		names = append(names, "Idempotency-Key")
	}
	switch {
	case tagged(o):
		names = append(names, "If-None-Match", "If-Match")
	case o.Holds != "":
		names = append(names, "If-Match-Held", "If-None-Match-Held")
	}
	if len(o.Follows) > 0 && query["from"] {
		names = append(names, "Last-Event-ID")
	}
	if o.Parts() {
		names = append(names, "Range")
	}
	return names
}

// Repeat says when a request for an operation may be sent once more: see [api.Operation.Repeatable].
func Repeat(o *api.Operation) string {
	switch {
	case o.Repeatable(false):
		return "always"
	case o.Repeatable(true):
		return "with_key"
	}
	return "never"
}

// tagged reports whether answers have an ETag.
func tagged(o *api.Operation) bool { return o.Method == http.MethodGet && !o.Waits }

// answers are what an operation may say, by status.
func (s *schemas) answers(o *api.Operation) object {
	content := object{}
	if o.Bytes == "" {
		content["application/json"] = object{"schema": s.of(reflect.TypeOf(o.Result), false)}
	} else {
		content[o.Bytes] = object{"schema": object{"type": "string", "format": "binary"}}
	}
	good := object{"description": "Done.", "content": content, "headers": object{
		"X-Request-Id": headerRef("X-Request-Id"), "RateLimit-Policy": headerRef("RateLimit-Policy"), "RateLimit": headerRef("RateLimit"),
	}}
	if len(o.Follows) > 0 {
		content["text/event-stream"] = s.events(o)
	}
	if o.Creates() {
		good["headers"].(object)["Idempotency-Replayed"] = headerRef("Idempotency-Replayed")
	}
	all := object{"200": good}
	if o.Parts() {
		all[strconv.Itoa(http.StatusPartialContent)] = object{"description": "The part that Range names.", "content": content, "headers": good["headers"]}
	}
	add := func(status int) {
		all[strconv.Itoa(status)] = object{"$ref": "#/components/responses/" + strconv.Itoa(status)}
	}
	for _, kind := range o.Kinds() {
		f, _ := api.FailureOf(kind)
		add(f.Status)
	}
	add(http.StatusInternalServerError)
	add(http.StatusNotAcceptable)
	if o.Parts() {
		add(http.StatusRequestedRangeNotSatisfiable)
	}
	switch {
	case tagged(o):
		good["headers"].(object)["ETag"] = headerRef("ETag")
		add(http.StatusNotModified)
		add(http.StatusPreconditionFailed)
	case o.Method != http.MethodGet:
		if o.Holds != "" {
			add(http.StatusPreconditionFailed)
		}
		add(http.StatusRequestTimeout)
		add(http.StatusRequestEntityTooLarge)
		add(http.StatusUnsupportedMediaType)
	}
	return all
}

// events describes a stream. OpenAPI 3.1 has no words for what is in one: that stands in
// x-events, the schema of the data of each event by its name.
func (s *schemas) events(o *api.Operation) object {
	data := object{}
	for _, name := range append(slices.Clone(o.Follows), api.EventError) {
		data[name] = s.of(reflect.TypeOf(o.EventData(name)), false)
	}
	return object{
		"schema": object{"type": "string", "description": "Server-sent events: " + strings.Join(o.Follows, ", ") +
			"; or error, a problem, by which it ends. Their data is JSON."},
		"x-events": data,
	}
}

func headerRef(name string) object { return object{"$ref": "#/components/headers/" + name} }

// parameters are headers of requests, as the door reads them, and what many operations have in their addresses.
var parameters = object{
	"X-Tenant-Id": header("X-Tenant-Id", "A context's number or its alias. Where the address names one as well, it must be the same."),
	"Idempotency-Key": header("Idempotency-Key", "Names the request, in "+strconv.Itoa(api.MaxRequestKey)+" bytes at most: sent again under the same key "+
		"within 24 hours it creates nothing more, and is answered as before."),
	"If-None-Match": header("If-None-Match", "ETags of answers that the caller has: 304 while it would be one of them."),
	"If-Match":      header("If-Match", "ETags: 412 where the answer would have none of them."),
	"If-Match-Held": header("If-Match", "ETags that reading what is changed has given: 412, and nothing done, where reading it now would give none of them."),
	"If-None-Match-Held": object{"name": "If-None-Match", "in": "header", "schema": object{"type": "string", "enum": []string{"*"}},
		"description": "Only *: 412, and nothing done, where what is to be made is there already."},
	"Range":         header("Range", "The part of the file that is wanted, as bytes=0-99. Left out, all of it."),
	"Last-Event-ID": header("Last-Event-ID", "The id of the last event that came: a stream goes on behind it."),
	api.FieldsParam: object{"name": api.FieldsParam, "in": "query", "schema": object{"type": "string"},
		"description": "The fields that are wanted, with commas between them: of each thing of a page, or of the answer. Without it all. " +
			"Of an answer the others are not there, whatever its schema requires."},
}

func header(name, description string) object {
	return object{"name": name, "in": "header", "description": description, "schema": object{"type": "string"}}
}

// headers are those of answers.
var headers = object{
	"X-Request-Id":         answerHeader("What the request is called, in the log of the node, too."),
	"RateLimit-Policy":     answerHeader("How much of the node the caller may hold at once, by bound."),
	"RateLimit":            answerHeader("What is left of that."),
	"ETag":                 answerHeader("The hash of the answer."),
	"Retry-After":          answerHeader("After how many seconds to come again."),
	"WWW-Authenticate":     answerHeader("What would prove who calls."),
	"Idempotency-Replayed": answerHeader("true where the answer is the one that was given before under the key."),
}

func answerHeader(description string) object {
	return object{"description": description, "schema": object{"type": "string"}}
}

// notOfKinds are the statuses that the door gives by itself.
var notOfKinds = map[int]string{
	http.StatusNotAcceptable:                "Accept allows none of the forms that there are.",
	http.StatusPreconditionFailed:           "What is there is not what If-Match or If-None-Match names; nothing was done.",
	http.StatusRequestTimeout:               "The body did not come in time.",
	http.StatusRequestEntityTooLarge:        "The body is too large.",
	http.StatusRequestedRangeNotSatisfiable: "The file does not have the part that Range names.",
	http.StatusUnsupportedMediaType:         "The body says that it is no JSON, or is in a coding other than gzip.",
}

// responses are the answers other than 200, by status.
func responses(problem object) object {
	all := object{strconv.Itoa(http.StatusNotModified): object{"description": "The caller has it already.", "headers": object{"ETag": headerRef("ETag")}}}
	add := func(status int, text string) {
		headers := object{"X-Request-Id": headerRef("X-Request-Id")}
		switch status {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			headers["Retry-After"] = headerRef("Retry-After")
		case http.StatusUnauthorized:
			headers["WWW-Authenticate"] = headerRef("WWW-Authenticate")
		}
		all[strconv.Itoa(status)] = object{"description": text, "headers": headers, "content": object{"application/problem+json": object{"schema": problem}}}
	}
	for status, text := range notOfKinds {
		add(status, text)
	}
	for _, f := range api.Failures() {
		add(f.Status, f.Means)
	}
	return all
}
