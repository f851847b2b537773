package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/internal/watched"
)

// commandText is a command in a page, of a block or within a line.
var commandText = regexp.MustCompile("(?m)^ *(?:\\$ +)?(?:[A-Z_]+=\\S+ +)*(?:sudo +)?ramet +([a-z][^\n]*)$|`ramet ([a-z][^`]*)`")

// laterCommand is one within another: behind a pipe, in a substitution, handed to xargs or sudo.
var laterCommand = regexp.MustCompile("(?m)(?:\\$\\(|[|&;] +|xargs(?: -n 1)? +|sudo -u \\S+ +(?:[A-Z_]+=\\S+ +)*)ramet +([a-z][^\n`]*)")

// wordOnly is what may be the name of a command.
var wordOnly = regexp.MustCompile(`^[a-z][a-z-]*$`)

// firstOf is what a shell would take for the words of the first command of a text, without
// what stands for others in a page: "list|show", "[--all]", "…".
func firstOf(text string) (words []string) {
	text, _, _ = strings.Cut(text, " #")
	for word := range strings.FieldsSeq(regexp.MustCompile(`'[^']*'|"[^"]*"`).ReplaceAllString(text, "x")) {
		if strings.ContainsAny(word[:1], "|>&;<\\(") || word == "2>&1" {
			return words
		}
		word = strings.Trim(word, "[],")
		end := strings.ContainsAny(word, ";)")
		word, _, _ = strings.Cut(word, ";")
		word, _, _ = strings.Cut(word, ")")
		if word, _, _ = strings.Cut(word, "|"); word != "" && word != "…" && !strings.HasPrefix(word, "…") {
			words = append(words, strings.TrimSuffix(word, "…"))
		}
		if end {
			return words
		}
	}
	return words
}

// What the pages tell people to type is there: the command, and each flag of it.
func TestEachCommandOfThePagesIsThere(t *testing.T) {
	watched.Alone(t)
	seen, laterSeen := 0, 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "node_modules" || name == "decisions" || strings.HasPrefix(name, ".") && name != ".." && name != "../..") {
			return filepath.SkipDir
		}
		if filepath.Ext(name) != ".md" || name == "CHANGELOG.md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range commandText.FindAllStringSubmatch(string(text), -1) {
			words := firstOf(m[1] + m[2])
			if words[0] == "help" || words[0] == "signs" { // cobra's own, and the beginning of what is signed
				continue
			}
			if fault := missing(words); fault != "" {
				t.Errorf("%s: ramet %s: %s", strings.TrimPrefix(path, "../../"), m[1]+m[2], fault)
			}
			seen++
		}
		for _, m := range laterCommand.FindAllStringSubmatch(string(text), -1) {
			if fault := missing(firstOf(m[1])); fault != "" {
				t.Errorf("%s: ramet %s: %s", strings.TrimPrefix(path, "../../"), m[1], fault)
			}
			laterSeen++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 500 || laterSeen < 20 {
		t.Errorf("%d commands were found in the pages, and %d within others; there were more", seen, laterSeen)
	}
}

// missing says which part of a command there is not.
func missing(words []string) string {
	root := (&app{std: Streams{Out: os.Stdout, Err: os.Stderr}}).root()
	c, rest, err := root.Find(words)
	switch {
	case err != nil:
		return err.Error()
	case c.HasSubCommands() && len(rest) > 0 && wordOnly.MatchString(rest[0]):
		return "there is no such command"
	}
	if err := c.ParseFlags(rest); err != nil && (strings.Contains(err.Error(), "unknown flag") || strings.Contains(err.Error(), "unknown shorthand")) {
		return err.Error()
	}
	return ""
}

// deployed is a command in a file below deploy: of a unit of systemd, a container, or an image.
var deployed = regexp.MustCompile(`(?m)/ramet (node [a-z-]+|[a-z]+ --[^\n]*)$|(?:command|args): \[(serve[^\]]*)\]|CMD \["/ramet", ([^\]]*)\]`)

// What the files for operators start is there, and each flag of it.
func TestEachCommandOfWhatIsDeployedIsThere(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir("../../deploy", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range deployed.FindAllStringSubmatch(string(text), -1) {
			line := m[1] + m[2] + m[3]
			if fault := missing(strings.Fields(strings.NewReplacer(",", " ", `"`, "").Replace(line))); fault != "" {
				t.Errorf("%s: ramet %s: %s", path, line, fault)
			}
			seen[filepath.Base(filepath.Dir(path))] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"compose", "docker", "kubernetes", "systemd"} {
		if !seen[folder] {
			t.Errorf("no command was found below deploy/%s", folder)
		}
	}
}
