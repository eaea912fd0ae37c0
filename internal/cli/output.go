package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
)

// The formats of answers.
const (
	outputTable = "table"
	outputJSON  = "json"
	outputYAML  = "yaml"
	outputJSONL = "jsonl"
)

// outputFlag says how a command prints its answer.
type outputFlag struct {
	format string
	quiet  bool
}

// define defines the flags of a command with one answer.
func (o *outputFlag) define(cmd *cobra.Command) { o.defineWith(cmd, "print nothing but errors") }

// defineList defines the flags of a command that lists things; see printList.
func (o *outputFlag) defineList(cmd *cobra.Command) {
	o.defineWith(cmd, "print the IDs alone, one a line")
}

func (o *outputFlag) defineWith(cmd *cobra.Command, quiet string) {
	o.format = outputTable
	addFlags(cmd, "Output", func(flags *pflag.FlagSet) {
		flags.VarP(flagconf.NewEnum(&o.format, outputTable, outputJSON, outputYAML, outputJSONL), "output", "o",
			"`FORMAT` of the answer: table is for people, json and yaml have the fields of the API, jsonl is json with one object a line")
		flags.BoolVarP(&o.quiet, "quiet", "q", false, quiet)
	})
}

// forPeople reports whether a person will read the output.
func (o *outputFlag) forPeople() bool { return o.format == outputTable && !o.quiet }

// print writes an answer: for people with the given function, for programs in the shape of the API.
func (a *app) print(output outputFlag, answer any, forPeople func(io.Writer) error) error {
	switch {
	case output.quiet:
		return nil
	case output.forPeople():
		return forPeople(a.env.Stdout)
	}
	text, err := encodeAs(output.format, answer)
	if err != nil {
		return err
	}
	_, err = a.env.Stdout.Write(text)
	return err
}

// printList writes a list as print does. With --quiet it writes only the IDs of the items.
func printList[T any](a *app, output outputFlag, items []T, id func(*T) string, forPeople func(io.Writer) error) error {
	if !output.quiet {
		return a.print(output, items, forPeople)
	}
	for i := range items {
		if _, err := fmt.Fprintln(a.env.Stdout, id(&items[i])); err != nil {
			return err
		}
	}
	return nil
}

// printAll is printList for all items of a sequence.
func printAll[T any](
	a *app, output outputFlag, all iter.Seq2[T, error], id func(*T) string, forPeople func(io.Writer, []T, render.View) error,
) error {
	items := []T{}
	for item, err := range all {
		if err != nil {
			return err
		}
		items = append(items, item)
	}
	return printList(a, output, items, id, func(w io.Writer) error { return forPeople(w, items, a.view()) })
}

// encodeAs encodes an answer in one of the formats for programs.
func encodeAs(format string, answer any) ([]byte, error) {
	switch format {
	case outputYAML:
		return apitext.EncodeYAML(answer)
	case outputJSONL:
		return jsonLines(answer)
	}
	return indentedJSON(answer)
}

func indentedJSON(answer any) ([]byte, error) {
	compact, err := apitext.EncodeJSON(answer)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return render.PrintableJSON(out.Bytes()), nil
}

// jsonLines writes each item of a list on its own line, and any other answer on one line.
func jsonLines(answer any) ([]byte, error) {
	compact, err := apitext.EncodeJSON(answer)
	if err != nil {
		return nil, err
	}
	items := []json.RawMessage{compact}
	if bytes.HasPrefix(compact, []byte("[")) {
		if err := json.Unmarshal(compact, &items); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	for _, item := range items {
		out.Write(item)
		out.WriteByte('\n')
	}
	return render.PrintableJSON(out.Bytes()), nil
}

// view returns how to show things on standard output.
func (a *app) view() render.View {
	return render.View{Now: a.env.Now(), Zone: a.env.Zone, Color: a.env.Color, Width: a.env.Width()}
}
