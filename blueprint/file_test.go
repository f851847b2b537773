package blueprint_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

func TestScriptsAreReadFromTheBlueprintsFolder(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "in/run.py", "print(1)\n")
	write(t, folder, "in/deep/prog", "#!/usr/bin/env bash\necho 1\n")
	write(t, folder, "in/b.yaml", "name: n\nsteps:\n- {name: a, file: run.py}\n- {name: b, file: ./deep/prog}\n- {name: c, file: run.py, script_type: rhai}\n")
	got, err := blueprint.ParseFile(filepath.Join(folder, "in", "b.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := []domain.Step{
		{Name: "a", Script: "print(1)\n", ScriptType: "python"},
		{Name: "b", Script: "#!/usr/bin/env bash\necho 1\n", ScriptType: "shell"},
		{Name: "c", Script: "print(1)\n", ScriptType: "rhai"},
	}
	if diff := cmp.Diff(want, got.Steps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFilesThatAreNotReadIntoABlueprint(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "secret.sh", "echo secret")
	write(t, folder, "in/plain", "what is this")
	write(t, folder, "in/perl", "#!/usr/bin/perl\nprint 1;\n")
	write(t, folder, "in/long.sh", strings.Repeat("x", domain.MaxScriptBytes+1))
	write(t, folder, "in/binary.sh", "\xff\xfe")
	if err := os.Symlink("../secret.sh", filepath.Join(folder, "in", "link.sh")); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"../secret.sh":                         `"../secret.sh" is not in the blueprint's folder; want a relative path without ".."`,
		filepath.Join(folder, "in", "long.sh"): `is not in the blueprint's folder; want a relative path without ".."`,
		"link.sh":                              "path escapes from parent",
		"missing.sh":                           `"missing.sh": no such file or directory in the blueprint's folder`,
		".":                                    `"." is no ordinary file`,
		"plain":                                `plain: neither its extension nor a #! line says what script this is; want script_type, for example shell`,
		"perl":                                 `perl: its #! line names "perl", which is of no script type that is known; want script_type, for example shell`,
		"long.sh":                              `"long.sh" is longer than a script may be, 1048576 bytes`,
		"binary.sh":                            `"binary.sh" is not UTF-8`,
		"\"\"":                                 `"" is not in the blueprint's folder`,
	} {
		write(t, folder, "in/b.yaml", "name: n\nsteps:\n- {name: a, file: "+file+"}\n")
		_, err := blueprint.ParseFile(filepath.Join(folder, "in", "b.yaml"))
		wrong := (*blueprint.Error)(nil)
		if !errors.As(err, &wrong) || len(wrong.Faults) != 1 || !strings.Contains(wrong.Faults[0].Text, want) ||
			wrong.Faults[0].Path != "steps[0].file" || wrong.Faults[0].Line != 3 {
			t.Errorf("%s: got %v, want %s", file, err, want)
		}
	}
	write(t, folder, "in/b.yaml", "name: n\nsteps:\n- {name: a, file: plain, script: x, script_type: v}\n")
	if _, err := blueprint.ParseFile(filepath.Join(folder, "in", "b.yaml")); err == nil ||
		!strings.Contains(err.Error(), "script and file are both given; want one of them") {
		t.Errorf("both: got %v", err)
	}
	if _, err := blueprint.ParseFile(filepath.Join(folder, "none.yaml")); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("no blueprint: got %v", err)
	}
	if _, err := blueprint.ParseFile(folder); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("a folder: got %v", err)
	}
}

// TestTheBlueprintsInTheDocsAreRight takes each block of YAML.
func TestTheBlueprintsInTheDocsAreRight(t *testing.T) {
	text, err := os.ReadFile("../docs/blueprints.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```yaml\n")[1:]
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if _, err := blueprint.Parse("docs/blueprints.md", []byte(block)); err != nil {
			t.Error(err)
		}
	}
	if len(blocks) != 3 {
		t.Errorf("got %d blocks", len(blocks))
	}
}
