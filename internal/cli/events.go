package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

// outputWide is a table with more columns.
const outputWide = "wide"

// eventOutput says how a command prints events. It prints each one as it arrives, since their number has no bound.
type eventOutput struct {
	format string
	quiet  bool
}

func (o *eventOutput) define(cmd *cobra.Command) {
	o.format = outputTable
	addFlags(cmd, "Output", func(flags *pflag.FlagSet) {
		flags.VarP(flagconf.NewEnum(&o.format, outputTable, outputWide, outputJSON, outputYAML, outputJSONL), "output", "o",
			"`FORMAT` of the events: table is for people, wide adds the names of requests, runs and traces, json and jsonl are one "+
				"event a line, with the fields of the API, yaml is one document an event")
		flags.BoolVarP(&o.quiet, "quiet", "q", false, "print the IDs of the events alone, one a line")
	})
}

// eventPrinter prints events one by one.
type eventPrinter struct {
	out    io.Writer
	output eventOutput
	lines  render.EventLines
}

// eventPrinter returns a printer for the events of one schedule, or of several. The layout is one of the layouts of package render.
func (a *app) eventPrinter(out io.Writer, output eventOutput, layout string, several bool) eventPrinter {
	return eventPrinter{out: out, output: output, lines: render.EventLines{
		Layout: layout, Zone: a.env.Zone, Schedule: several, Wide: output.format == outputWide, Color: a.env.Color,
	}}
}

// line writes a line, but only in the formats for people.
func (p *eventPrinter) line(text string) error {
	if p.output.quiet || p.output.format != outputTable && p.output.format != outputWide {
		return nil
	}
	_, err := fmt.Fprintln(p.out, text)
	return err
}

func (p *eventPrinter) event(event *schedule.Event) error {
	switch {
	case p.output.quiet:
		_, err := fmt.Fprintln(p.out, event.ID)
		return err
	case p.output.format == outputTable, p.output.format == outputWide:
		return p.line(p.lines.Line(event))
	}
	format := p.output.format
	if format == outputJSON {
		format = outputJSONL // a growing list has no end that could be written
	}
	text, err := encodeAs(format, event)
	if err != nil {
		return err
	}
	if format == outputYAML {
		text = append([]byte("---\n"), text...)
	}
	_, err = p.out.Write(text)
	return err
}

// atMostOne returns a check for an optional positional argument.
func atMostOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return exactly(name)(cmd, args)
	}
}

// optional returns the argument that atMostOne allows; empty if it was not given.
func optional(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
