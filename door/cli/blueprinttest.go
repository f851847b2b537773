package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/blueprint/trial"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) blueprintTest() *cobra.Command {
	only, quiet, covered := "", false, false
	c := &cobra.Command{
		Use: "test FILE...", Short: "Run the tests of a blueprint's author, without a node", Args: cobra.MinimumNArgs(1),
		Example: "  ramet blueprint test nightly_test.yaml\n  ramet blueprint test nightly_test.yaml --case failed --coverage",
		RunE: func(c *cobra.Command, files []string) error {
			if a.hooks.PlayBlueprint == nil {
				return domain.Invalidf("this program has no engine that plays flows; use ramet")
			}
			reports, failed := []trial.Report{}, 0
			for _, file := range files {
				r, err := trial.Run(c.Context(), file, only, a.hooks.PlayBlueprint)
				if err != nil {
					return a.faults(err)
				}
				failed += r.Failed()
				reports = append(reports, r)
				if a.output == outTable {
					if err := r.Text(a.std.Out, quiet, covered); err != nil {
						return err
					}
				}
			}
			if a.output != outTable {
				if err := a.print(map[string]any{"files": reports}, nil); err != nil {
					return err
				}
			}
			if failed > 0 {
				return &exitError{code: exitFailed, text: fmt.Sprintf("%d cases failed", failed)}
			}
			return nil
		},
	}
	c.Flags().StringVar(&only, "case", "", "only cases that have that `text` in their names")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "show only cases that fail")
	c.Flags().BoolVar(&covered, "coverage", false, "say which steps and conditions no case has shown")
	c.Long = c.Short + `. A file, such as nightly_test.yaml beside nightly.yaml, has cases: how jobs end, and what is expected of the flow then.
Nothing is run. Exit code: 0 all are as expected, 1 some are not.`
	return c
}
