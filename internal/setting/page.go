package setting

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ExampleFile is a config file in which each setting is a remark: a line of words begins
// with "# ", one to use with "#" alone.
func ExampleFile() string {
	var b strings.Builder
	b.WriteString("# A config file of Ramet: `ramet serve --config FILE`, and `ramet config check FILE` before that.\n" +
		"# Take the # away from lines that you want to change, and from the name of the block that\n" +
		"# they stand in. Flags go before variables of the environment, such as $RAMET_LEASE, and\n" +
		"# these before the file.\n")
	var block []string // the names that the last line stands below
	for _, section := range Table {
		if !slices.ContainsFunc(section.Settings, func(s Setting) bool { return s.Key != "" }) {
			continue
		}
		fmt.Fprintf(&b, "\n# --- %s ---\n", section.Title)
		for _, s := range section.Settings {
			if s.Key != "" {
				block = s.example(&b, block)
			}
		}
	}
	return b.String()
}

// ownNames are what example files have for a * behind a name.
var ownNames = map[string]string{"runtimes": "ruby", "secrets": "MAIL", "circles": "friends", "headers": "", "slots": "", "slots_per_context": "", "env": ""}

// example writes a setting's lines, below the names of block where they are the same.
func (s Setting) example(b *strings.Builder, block []string) []string {
	value := cmp.Or(s.Example, s.Default)
	path := strings.Split(s.Key, ".")
	last := len(path) - 1
	for i, name := range path {
		if name == "*" {
			path[i] = ownNames[path[i-1]]
		}
	}
	for i, name := range path[:last] {
		if i < len(block) && block[i] == name {
			continue
		}
		block = block[:min(i, len(block))]
		fmt.Fprintf(b, "#%s%s:\n", strings.Repeat("  ", i), name)
		block = append(block, name)
	}
	block = block[:last]
	for _, line := range wrapped(s.words(), 90) {
		b.WriteString("# " + line + "\n")
	}
	line := path[last] + ": " + value
	if path[last] == "" { // the example has the name, too
		line = value
	}
	// What belongs to another kind of block than the example's is shown by its words alone.
	if s.Example == "" && strings.Contains(s.Key, ".*.") {
		return block
	}
	fmt.Fprintf(b, "#%s%s\n", strings.Repeat("  ", last), line)
	return block
}

// words are all that is to be said of a setting in a remark.
func (s Setting) words() string {
	text := strings.ReplaceAll(s.Help, "`", "") + "."
	if strings.Contains(s.Key, ".*.") { // of several kinds of blocks: say which line is meant
		key := strings.TrimSuffix(s.Key, ".*")
		text = key[strings.LastIndex(key, ".")+1:] + ": " + text
	}
	if first, _, _ := strings.Cut(text, " "); !strings.ContainsAny(first, ":=") {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	if want := s.Bounds(); want != "" {
		text += " " + strings.ToUpper(want[:1]) + want[1:] + "."
	}
	if s.Default != "" {
		text += " Default: " + s.Default + "."
	}
	return text
}

// wrapped breaks a text into lines.
func wrapped(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// Page is docs/config.md: the table for people.
func Page() string {
	var b strings.Builder
	b.WriteString(`# Settings

<!-- Made from internal/setting/table.go by go test ./internal/setting -update. -->

What a node is started with. A flag of ` + "`ramet serve`" + ` goes before a variable of the environment, that before the config file
(` + "`--config FILE`" + `, ` + "`$RAMET_CONFIG`" + `), and that before the default. Every line of the file may be left out.

` + "```" + `
ramet config example > ramet.yaml   # a file with every setting, each as a remark
ramet config check ramet.yaml       # all that is wrong with it, with line, column and what was meant; code 2 where something is
ramet config show --config ramet.yaml --changed   # what would be in force, and where each value comes from
` + "```" + `

Durations are written like 30s, 5m or 24h. In a variable of the environment a list has spaces between its items, names and values are
written like ` + "`zone=eu disk=ssd`" + `. ` + "`*`" + ` stands for a name that you choose: a script type, a secret, a circle.
What is marked ↻ a node that runs takes up at ` + "`ramet node reload`" + ` (` + "`systemctl reload`" + `); all else at its next start.
`)
	for _, section := range Table {
		fmt.Fprintf(&b, "\n## %s\n\n", section.Title)
		if section.About != "" {
			b.WriteString(section.About + "\n\n")
		}
		b.WriteString("| setting | holds | default | what it is |\n| --- | --- | --- | --- |\n")
		for _, s := range section.Settings {
			b.WriteString(s.rowText())
		}
	}
	return b.String()
}

func (s Setting) rowText() string {
	var names []string
	if s.Key != "" {
		names = append(names, "`"+s.Key+"`")
	}
	if s.Flag != "" {
		names = append(names, "`--"+s.Flag+"`")
	}
	if v := s.Variable(); v != "" {
		names = append(names, "`$"+v+"`")
	}
	holds := string(s.Kind)
	if want := s.Bounds(); want != "" {
		holds += ": " + want
	}
	help := strings.ReplaceAll(s.Help, "`", "")
	if s.Flag == "" {
		help = s.Help
	}
	if s.Reload {
		help += " ↻"
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", strings.Join(names, "<br>"), holds, strings.ReplaceAll(s.Default, "|", `\|`),
		strings.ReplaceAll(help, "|", `\|`))
}
