package cli

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ramet-run/ramet/api"
)

// This file gives each command that does what an operation does an example: the one that the
// operation has in package api, as somebody types it. What is typed otherwise (from a file,
// through a pipe), or does no single operation, has its example where the command is made.

// examples gives c and all commands below it that have no example of their own that of their
// operation.
func examples(c *cobra.Command) {
	addExample(c)
	for _, sub := range c.Commands() {
		examples(sub)
	}
}

// addExample gives a command that has no example of its own that of its operation.
func addExample(c *cobra.Command) {
	name := operationName(c)
	at := slices.IndexFunc(api.Table, func(o *api.Operation) bool { return o.Name == name })
	if at >= 0 && c.Example == "" {
		c.Example = "  " + exampleOf(c, api.Table[at])
	}
}

// showExample has the help of each command make its example: to make all of them takes
// longer than most commands do.
func showExample(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		addExample(c)
		help(c, args)
	})
}

// completionExamples gives the commands that cobra makes their examples.
func completionExamples(root *cobra.Command) {
	how := map[string]string{
		"bash":       `eval "$(ramet completion bash)"`,
		"zsh":        "ramet completion zsh >_ramet   # into a folder of $fpath",
		"fish":       "ramet completion fish >ramet.fish   # into ~/.config/fish/completions",
		"powershell": "ramet completion powershell >ramet.ps1",
	}
	c, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	for _, sub := range c.Commands() {
		sub.Example = "  " + how[sub.Name()]
	}
}

// operationName is the name of the operation that a command is named for: "job.cancel" of
// `ramet job cancel`.
func operationName(c *cobra.Command) string {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	return strings.ReplaceAll(path, " ", ".")
}

// placeholder is a word of a usage line that stands for an argument which must be there.
var placeholder = regexp.MustCompile(`^[A-Z]+$`)

// exampleOf is the operation's example as a line of the command: what names the thing comes
// where the usage has a word for it, and each flag that is called as a parameter has its value.
func exampleOf(c *cobra.Command, o *api.Operation) string {
	values, named := exampleValues(o)
	if o.Group() == "context" { // which is an argument there, and elsewhere the global flag
		named["context"] = values["context"]
	}
	words := []string{c.CommandPath()}
	usage, _, _ := strings.Cut(c.Use, " |")
	inPath := pathArguments(o, named)
	for _, word := range strings.Fields(usage)[1:] {
		switch {
		case strings.HasPrefix(word, "FILE"):
			words = append(words, exampleFile(o, values))
		case strings.HasPrefix(word, "-"):
			usage = "" // flags and their values follow
		case usage == "" || !placeholder.MatchString(word):
		case len(inPath) > 0:
			words, inPath = append(words, inPath[0]), inPath[1:]
		default:
			words = append(words, shellWord(values[strings.ToLower(word)]))
		}
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		value, there := values[strings.ReplaceAll(f.Name, "-", "_")]
		_, argument := named[f.Name]
		switch {
		case !there || argument || f.Hidden || c.InheritedFlags().Lookup(f.Name) != nil:
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name)
		default:
			words = append(words, "--"+f.Name, shellWord(value))
		}
	})
	return strings.Join(words, " ")
}

// exampleValues are the parameters of the operation's example that are not zero, as texts by
// their names, and those of them that stand in the path.
func exampleValues(o *api.Operation) (values, inPath map[string]string) {
	values, inPath = map[string]string{}, map[string]string{}
	example := reflect.ValueOf(o.Example).Elem()
	for _, f := range api.FieldsOf(example.Type()) {
		v := example.FieldByIndex(f.Index)
		if v.IsZero() || v.Kind() == reflect.Struct || v.Kind() == reflect.Map {
			continue
		}
		if name := f.Tag.Get("path"); name != "" {
			values[name] = fmt.Sprint(v)
			if name != "context" {
				inPath[name] = values[name]
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if query := f.Tag.Get("query"); query != "" {
			name = query
		}
		values[name] = fmt.Sprint(reflect.Indirect(v))
	}
	return values, inPath
}

// pathArguments are the parameters in the operation's path as people give them, in its order.
// A job and a message are named by caller and number at once.
func pathArguments(o *api.Operation, named map[string]string) (list []string) {
	for part := range strings.SplitSeq(o.Path, "/") {
		name := strings.Trim(part, "{}")
		value, there := named[name]
		if name == part || !there {
			continue
		}
		if _, pair := named["caller"]; pair && name == "id" {
			list[len(list)-1] += ":" + value
			continue
		}
		list = append(list, shellWord(value))
	}
	return list
}

// exampleFile names a file for what an operation takes.
func exampleFile(o *api.Operation, values map[string]string) string {
	if values["file"] != "" {
		return values["file"]
	}
	if values["name"] != "" {
		return values["name"] + ".yaml"
	}
	return o.Group() + ".yaml"
}

var plainWord = regexp.MustCompile(`^[\w.:/@%+=,-]+$`)

// shellWord is a text as a word of a shell.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
