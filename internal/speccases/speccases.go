package speccases

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Case asks for the times of a spec after an instant.
type Case struct {
	ID         string
	Spec       schedule.Spec
	JitterSeed string
	After      time.Time
}

// line is a case as it is written. Its other fields have the expected results, and are for the caller.
type line struct {
	ID         string          `json:"id"`
	Spec       json.RawMessage `json:"spec"`
	JitterSeed string          `json:"jitterSeed"`
	After      string          `json:"after"`
}

// Read yields the cases of r one by one, in order, and keeps no more than one line. It skips empty lines. An error comes with the
// ID of the case. If the line could not be read at all, there is no ID, and the error names the line. Only an error of r itself
// ends the sequence. It comes last, wrapped in a [*ReadError].
func Read(r io.Reader) iter.Seq2[Case, error] {
	return func(yield func(Case, error) bool) {
		lines := bufio.NewReaderSize(r, 64<<10)
		for number := 1; ; number++ {
			text, err := lines.ReadBytes('\n')
			if text = bytes.TrimSpace(text); len(text) > 0 && !yield(parse(text, number)) {
				return
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(Case{}, &ReadError{Line: number, Err: err})
				return
			}
		}
	}
}

// ReadError is the error of input that broke off.
type ReadError struct {
	Line int
	Err  error
}

func (e *ReadError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the error of the reader.
func (e *ReadError) Unwrap() error { return e.Err }

func parse(text []byte, number int) (Case, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return Case{}, fmt.Errorf("line %d: not a case: %w", number, err)
	}
	c := Case{ID: l.ID, JitterSeed: l.JitterSeed}
	var err error
	if l.After != "" {
		if c.After, err = time.Parse(time.RFC3339Nano, l.After); err != nil {
			return c, schedule.Invalid("after", "%q is not a time: write 2030-01-31T09:00:00Z", l.After)
		}
	}
	if len(l.Spec) > 0 {
		c.Spec, err = ParseSpec(l.Spec)
	}
	return c, schedule.Prefix("spec", err)
}
