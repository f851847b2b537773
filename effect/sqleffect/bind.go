package sqleffect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/effect"
)

// ownNames are values that are not the payload's.
var ownNames = []string{"_command_id", "_tenant", "_effect", "_attempt", "_payload"}

// values are what the statements of one call may name.
type values struct {
	call    effect.Call
	payload any
}

func readValues(call effect.Call) (values, error) {
	v := values{call: call}
	if len(call.Payload) == 0 {
		return v, nil
	}
	d := json.NewDecoder(bytes.NewReader(call.Payload))
	d.UseNumber()
	if err := d.Decode(&v.payload); err != nil {
		return v, effect.Refusedf("sql: the payload is not JSON")
	}
	return v, nil
}

// bind is the arguments of each statement, in order.
//
// Errors: *[effect.Refused].
func (p *program) bind(call effect.Call, driver string) ([][]any, error) {
	v, err := readValues(call)
	if err != nil {
		return nil, err
	}
	out := make([][]any, len(p.statements))
	for i, s := range p.statements {
		for _, name := range s.params {
			value, found := v.get(name)
			if !found && !p.optional[name] {
				return nil, effect.Refusedf("sql: the payload has no field %q", name)
			}
			arg, ok := argument(value, p.types[name], driver)
			if !ok {
				return nil, effect.Refusedf("sql: the payload's field %q is not of the type %s", name, orPlain(p.types[name]))
			}
			out[i] = append(out[i], arg)
		}
	}
	return out, nil
}

func orPlain(kind string) string {
	if kind == "" {
		return "that the database can take"
	}
	return kind
}

// get finds a value: one of ours, or a field of the payload, names of which may
// lead into objects.
func (v values) get(name string) (any, bool) {
	switch name {
	case "_command_id":
		return v.call.CommandID, true
	case "_tenant":
		return json.Number(strconv.FormatUint(uint64(v.call.Tenant), 10)), true
	case "_effect":
		return v.call.Effect, true
	case "_attempt":
		return json.Number(strconv.Itoa(v.call.Attempt)), true
	case "_payload":
		return v.payload, true
	}
	at := v.payload
	for part := range strings.SplitSeq(name, ".") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = object[part]; !ok {
			return nil, false
		}
	}
	return at, true
}

// argument makes of a JSON value what the driver is given.
//
// PostgreSQL gets everything as text and reads it as what stands in its place.
// MySQL gets numbers as text too: it compares a text column with the number 0
// by making 0 of every text, so that a payload could meet rows by not knowing
// them. Types say where a number has to be one.
func argument(value any, kind, driver string) (any, bool) {
	if value == nil {
		return nil, true
	}
	switch kind {
	case "json":
		return compact(value), true
	case "bytes":
		text, ok := value.(string)
		if !ok {
			return nil, false
		}
		b, err := base64.StdEncoding.DecodeString(text)
		return b, err == nil
	case "text":
		return scalarText(value)
	case "int":
		n, ok := integer(value)
		if ok && driver == driverPostgres {
			return strconv.FormatInt(n, 10), true
		}
		return n, ok
	case "float":
		n, ok := value.(json.Number)
		if !ok {
			return nil, false
		}
		f, err := n.Float64()
		if err == nil && driver == driverPostgres {
			return n.String(), true
		}
		return f, err == nil
	case "bool":
		b, ok := value.(bool)
		return boolean(b, driver), ok
	}
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return boolean(v, driver), true
	case json.Number:
		return number(v, driver)
	}
	return compact(value), true
}

func boolean(b bool, driver string) any {
	switch {
	case driver == driverPostgres:
		return strconv.FormatBool(b)
	case driver == driverMySQL && b:
		return "1"
	case driver == driverMySQL:
		return "0"
	}
	return b
}

// number is a number without a type.
func number(n json.Number, driver string) (any, bool) {
	text, ok := plainNumber(n.String())
	if !ok || driver != driverSQLite {
		return text, ok
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, true
	}
	if !strings.Contains(text, ".") {
		return nil, false // it would lose digits
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// plainNumber writes a number of JSON without an exponent, and a whole one
// without a point: 5.0 and 5e0 are what others write for 5.
func plainNumber(text string) (string, bool) {
	if strings.ContainsAny(text, "eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return "", false
		}
		return strconv.FormatFloat(f, 'f', -1, 64), true
	}
	if whole, fraction, ok := strings.Cut(text, "."); ok && strings.Trim(fraction, "0") == "" {
		return whole, true
	}
	return text, true
}

func integer(value any) (int64, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	text, ok := plainNumber(n.String())
	if !ok {
		return 0, false
	}
	i, err := strconv.ParseInt(text, 10, 64)
	return i, err == nil
}

func scalarText(value any) (any, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	}
	return nil, false
}

// compact is a value as JSON.
func compact(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic("BUG: what was read from JSON cannot be written: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
