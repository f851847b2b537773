// Package template is texts in which ${name} stands for something else, as in values of `env`, in
// keys of concurrency and in params of effects and schedules. Who fills one says what the names mean.
package template

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// Template is a text in which ${name} stands for something else. A name is one or several words with dots between them, as params.day.
// `$${` is `${` itself, and a ${ that begins no name is one, too.
type Template struct {
	parts []part
}

// part is a text, or a name.
type part struct {
	text, name string
	escaped    bool // the text is a ${ itself
}

// The names that templates in the environment of a step may have, besides params.<name>
// and item.<field>.
const (
	NameParams    = "params"
	NameSecret    = "secret" // of a job, in params of an effect alone
	NameNeeds     = "needs"  // what a step has left, in the same and in keys
	NameItem      = "item"   // the element, of a step with each
	NameIndex     = "index"  // where it stands in the list, from 0
	NameStep      = "step"   // the step's name
	NameFlowID    = "flow.id"
	NameTrigger   = "flow.trigger"
	NameBlueprint = "flow.blueprint"
)

// placeholder is a name in a text, or a ${ that is to be none.
var placeholder = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_][A-Za-z0-9_-]*)*)\}`)

// First is the first name in a text, as it is written there, or the first $${ that is to be none; ""
// where there is neither.
func First(text string) string { return placeholder.FindString(text) }

// Is reports whether a text may have names in it.
func Is(text string) bool { return strings.Contains(text, "${") }

// In reports whether one of the values may.
func In(texts map[string]string) bool {
	for _, text := range texts {
		if Is(text) {
			return true
		}
	}
	return false
}

// Escape is a template of the text itself.
func Escape(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// Parse reads a template. Every text is one.
func Parse(text string) Template { return parse(text, placeholder) }

func parse(text string, placeholder *regexp.Regexp) Template {
	var t Template
	if !Is(text) {
		return Template{[]part{{text: text}}}
	}
	from := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		if at[0] > from {
			t.parts = append(t.parts, part{text: text[from:at[0]]})
		}
		if at[2] < 0 {
			t.parts = append(t.parts, part{text: "${", escaped: true})
		} else {
			t.parts = append(t.parts, part{name: text[at[2]:at[3]]})
		}
		from = at[1]
	}
	if from < len(text) {
		t.parts = append(t.parts, part{text: text[from:]})
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
		kept.parts[i].text = Escape(kept.parts[i].text)
	}
	return kept
}

// Fill puts in what names stand for; one that is not known stays as it is. What was put in
// is not looked at again.
//
// Errors: those of value; [domain.ErrLimit] where the text becomes longer than most.
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
			return "", domain.Limitf("a text has more than %d bytes with what its names stand for", most)
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// FillCall puts what names stand for into the params of an effect: ${name}, or ${params.name}.
// One that there is not stays as it is. With keep what comes out is a template still, of the
// names that stayed: a secret comes later.
//
// Errors: [domain.ErrInvalid] where they become too long.
func FillCall(params, values map[string]string, keep bool) (map[string]string, error) {
	all, room := make(map[string]string, len(params)), domain.MaxParamBytes
	for name, value := range params {
		t := Parse(value)
		if keep {
			t = t.Kept()
		}
		text, err := t.Fill(room, func(name string) (string, bool, error) {
			text, known := values[strings.TrimPrefix(name, NameParams+".")]
			if keep {
				text = Escape(text)
			}
			return text, known, nil
		})
		if err != nil {
			return nil, domain.Invalidf("params of the effect have more than %d bytes together, with what their names stand for", domain.MaxParamBytes)
		}
		room -= len(text)
		all[name] = text
	}
	return all, nil
}

// variable is a name in a param of a schedule. There $${a} always was a
// dollar before the variable, as of a price, and stays so.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_-]*)\}`)

// FillVariables puts the variables into the params: every ${name} in a value. Names
// that are none stay as they are; what was put in is not looked at again.
//
// Errors: [domain.ErrInvalid] where they become longer than params may be.
func FillVariables(params, variables map[string]string) (map[string]string, error) {
	filled := make(map[string]string, len(params))
	room := domain.MaxParamBytes
	for name, value := range params {
		text, err := parse(value, variable).Fill(room, func(name string) (string, bool, error) {
			text, known := variables[name]
			return text, known, nil
		})
		if err != nil {
			return nil, domain.Invalidf("params have more than %d bytes together, with their variables", domain.MaxParamBytes)
		}
		room -= len(text)
		filled[name] = text
	}
	return filled, nil
}
