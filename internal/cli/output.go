package cli

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	outputTable = "table"
	outputJSON  = "json"
	outputYAML  = "yaml"
)

// outputFlag is how a command prints its answer.
type outputFlag struct{ format string }

func (o *outputFlag) define(cmd *cobra.Command) {
	o.format = outputTable
	addFlags(cmd, "Output", func(flags *pflag.FlagSet) {
		flags.VarP(flagconf.NewEnum(&o.format, outputTable, outputJSON, outputYAML), "output", "o",
			"`FORMAT` of the answer: table is for people, json and yaml have the fields of the API")
	})
}

// print writes an answer: for people by the given function, or in the shape of the API.
func (a *app) print(output outputFlag, answer any, forPeople func(io.Writer) error) error {
	var text []byte
	var err error
	switch output.format {
	case outputJSON:
		text, err = indentedJSON(answer)
	case outputYAML:
		text, err = schedule.EncodeYAML(answer)
	default:
		return forPeople(a.env.Stdout)
	}
	if err != nil {
		return err
	}
	_, err = a.env.Stdout.Write(text)
	return err
}

func indentedJSON(answer any) ([]byte, error) {
	compact, err := schedule.EncodeJSON(answer)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
