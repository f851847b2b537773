package domain

import (
	"regexp"
	"slices"
	"strings"
)

// Template is a text in which ${name} stands for something else, as in values of `env` and in
// params of effects. A name is one or several words with dots between them, as params.day.
// `$${` is `${` itself, and a ${ that begins no name is one, too.
type Template struct {
	parts []templatePart
}

// templatePart is a text, or a name.
type templatePart struct {
	text, name string
	escaped    bool // the text is a ${ itself
}

// placeholder is where a name stands, or where none is to.
var placeholder = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_][A-Za-z0-9_-]*)*)\}`)

// FirstPlaceholder is the first place in a text where a name stands, or where none is to; ""
// where there is none.
func FirstPlaceholder(text string) string { return placeholder.FindString(text) }

// IsTemplate reports whether a text may have names in it.
func IsTemplate(text string) bool { return strings.Contains(text, "${") }

// HasTemplates reports whether one of the values does.
func HasTemplates(texts map[string]string) bool {
	for _, text := range texts {
		if IsTemplate(text) {
			return true
		}
	}
	return false
}

// EscapeTemplate is a template of the text itself.
func EscapeTemplate(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// ParseTemplate reads one. Every text is one.
func ParseTemplate(text string) Template { return parseTemplate(text, placeholder) }

func parseTemplate(text string, placeholder *regexp.Regexp) Template {
	var t Template
	if !IsTemplate(text) {
		return Template{[]templatePart{{text: text}}}
	}
	from := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		if at[0] > from {
			t.parts = append(t.parts, templatePart{text: text[from:at[0]]})
		}
		if at[2] < 0 {
			t.parts = append(t.parts, templatePart{text: "${", escaped: true})
		} else {
			t.parts = append(t.parts, templatePart{name: text[at[2]:at[3]]})
		}
		from = at[1]
	}
	if from < len(text) {
		t.parts = append(t.parts, templatePart{text: text[from:]})
	}
	return t
}

// Names are those in it, in their order.
func (t Template) Names() (names []string) {
	for _, p := range t.parts {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	return names
}

// Odd is the first ${ of the text that begins no name and is not escaped, with some of what
// follows; "" where there is none.
func (t Template) Odd() string {
	for _, p := range t.parts {
		if i := strings.Index(p.text, "${"); i >= 0 && !p.escaped {
			return p.text[i:min(len(p.text), i+20)]
		}
	}
	return ""
}

// Kept is the template that reads as this one once it was filled: its own texts are escaped.
func (t Template) Kept() Template {
	kept := Template{slices.Clone(t.parts)}
	for i := range kept.parts {
		kept.parts[i].text = EscapeTemplate(kept.parts[i].text)
	}
	return kept
}

// Fill puts in what names stand for; one that is not known stays as it is. What was put in
// is not looked at again.
//
// Errors: those of value; [ErrLimit] where the text becomes longer than most.
func (t Template) Fill(most int, value func(name string) (text string, known bool, err error)) (string, error) {
	var out strings.Builder
	for _, p := range t.parts {
		text := p.text
		if p.name != "" {
			of, known, err := value(p.name)
			if err != nil {
				return "", err
			}
			if text = "${" + p.name + "}"; known {
				text = of
			}
		}
		if out.Len()+len(text) > most {
			return "", Limitf("a text has more than %d bytes with what its names stand for", most)
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// FillCall puts what names stand for into the params of an effect: ${name}, or ${params.name}.
// One that there is not stays as it is. With keep what comes out is a template still, of the
// names that stayed: a secret comes later.
//
// Errors: [ErrInvalid] where they become too long.
func FillCall(params, values map[string]string, keep bool) (map[string]string, error) {
	all, room := make(map[string]string, len(params)), MaxParamBytes
	for name, value := range params {
		t := ParseTemplate(value)
		if keep {
			t = t.Kept()
		}
		text, err := t.Fill(room, func(place string) (string, bool, error) {
			text, known := values[strings.TrimPrefix(place, PlaceParams+".")]
			if keep {
				text = EscapeTemplate(text)
			}
			return text, known, nil
		})
		if err != nil {
			return nil, Invalidf("params of the effect have more than %d bytes together, with what their names stand for", MaxParamBytes)
		}
		room -= len(text)
		all[name] = text
	}
	return all, nil
}

// The names that templates in the environment of a step may have, besides params.<name>
// and item.<field>.
const (
	PlaceParams    = "params"
	PlaceSecret    = "secret" // of a job, in params of an effect alone
	PlaceNeeds     = "needs"  // what a step has left, in the same and in keys
	PlaceItem      = "item"   // the element, of a step with each
	PlaceIndex     = "index"  // its place in the list
	PlaceStep      = "step"   // the step's name
	PlaceFlowID    = "flow.id"
	PlaceTrigger   = "flow.trigger"
	PlaceBlueprint = "flow.blueprint"
)
