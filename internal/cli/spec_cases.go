package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/internal/speccases"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// caseTimes is the number of times in the answer to a case, if the spec has that many.
const caseTimes = 12

// caseAnswer is the answer to one case, in one line: its times or its error.
type caseAnswer struct {
	ID    string     `json:"id"`
	Next  []caseTime `json:"next,omitzero"`
	Error string     `json:"error,omitempty"`
}

type caseTime struct {
	Nominal time.Time `json:"nominal"`
	Actual  time.Time `json:"actual"`
}

// specCases answers cases one by one. A wrong case gets an error as its answer. The command fails only if input or output breaks off.
func (a *app) specCases(cmd *cobra.Command, path string) error {
	input := a.env.Stdin
	if path != "-" {
		data, err := a.env.ReadFile(path)
		if err != nil {
			return usagef("--cases %s: %w", path, err)
		}
		input = bytes.NewReader(data)
	}
	out := bufio.NewWriter(a.env.Stdout)
	if err := answerCases(cmd, input, out); err != nil {
		return errors.Join(fmt.Errorf("--cases %s: %w", path, err), out.Flush())
	}
	return out.Flush()
}

func answerCases(cmd *cobra.Command, input io.Reader, out *bufio.Writer) error {
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for c, err := range speccases.Read(input) {
		if broken := (*speccases.ReadError)(nil); errors.As(err, &broken) {
			return err
		}
		if err := lines.Encode(answerCase(c, err)); err != nil {
			return err
		}
		if err := cmd.Context().Err(); err != nil {
			return err
		}
	}
	return nil
}

// answerCase computes the times one by one: each is the next after the actual time of the one before.
func answerCase(c speccases.Case, err error) caseAnswer {
	var spec *specproc.Spec
	if err == nil {
		spec, err = specproc.Compile(c.Spec)
		err = schedule.Prefix("spec", err)
	}
	if err != nil {
		return caseAnswer{ID: c.ID, Error: err.Error()}
	}
	answer := caseAnswer{ID: c.ID, Next: []caseTime{}}
	after := c.After
	for len(answer.Next) < caseTimes {
		t, ok := spec.Next(after, c.JitterSeed)
		if !ok {
			break
		}
		answer.Next = append(answer.Next, caseTime(t))
		after = t.Actual
	}
	return answer
}
