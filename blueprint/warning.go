package blueprint

import (
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/template"
)

// Warnings are what is not wrong but may not be meant: names in a script that stand for something
// in templates, and for nothing there. In a shell they are no names of variables either, and what
// is JSON is the arguments of a function. Other languages may have names and strings like these.
func Warnings(b *domain.Blueprint) (list []domain.Fault) {
	for i := range b.Steps {
		s := &b.Steps[i]
		if s.ScriptType != domain.ScriptShell && !strings.HasPrefix(strings.TrimSpace(s.Script), `{"`) {
			continue
		}
		names := template.Parse(s.Script).Names()
		at := slices.IndexFunc(names, func(name string) bool {
			return strings.HasPrefix(name, template.NameParams+".") || strings.HasPrefix(name, template.NameNeeds+".")
		})
		if at < 0 {
			continue
		}
		list = append(list, domain.Fault{Path: stepPath(i, "script"), Text: "${" + names[at] + "} is not replaced in a script: " +
			"give it as a value of env, or let the script or the function read params and needs from its input"})
	}
	return list
}
