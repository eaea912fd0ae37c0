package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker/builtin"
)

func (a *app) importCrontabCommand() *cobra.Command {
	var flags importFlags
	var system bool
	cmd := &cobra.Command{
		Use:   "crontab FILE [flags]",
		Short: "Turn a crontab into schedules",
		Long: `Turns the lines of a crontab into schedules with the built-in action exec. It runs
the commands by a shell, as cron does: give the worker "--exec /bin/sh" if that
is what you want, or write the commands of the file as programs and arguments.

CRON_TZ and SHELL are carried over; other variables, @reboot and the user of a
system crontab are not, and are pointed out. As with cron, a run does not wait
for the one before. What cron misses while it is down is made up for within the
catch-up window, an hour here; change it in the file.`,
		Example: `  crontab -l | carillon import crontab - --time-zone Europe/Berlin
  carillon import crontab /etc/crontab --system`,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.env.readInput(args[0])
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			all, err := parseCrontab(string(data), system)
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			return a.writeImported(&flags, all)
		},
	}
	flags.define(cmd)
	addFlags(cmd, "Crontab", func(f *pflag.FlagSet) {
		f.BoolVar(&system, "system", false, "the sixth field is a user, as in /etc/crontab and /etc/cron.d")
	})
	return cmd
}

// crontabCatchup is the catch-up window of schedules from a crontab: cron makes up for nothing, a year would surprise.
const crontabCatchup = schedule.Duration(time.Hour)

// crontab is what the lines so far have set.
type crontab struct {
	zone, shell string
	notes       []string
	system      bool
}

// parseCrontab reads crontab(5).
func parseCrontab(text string, system bool) ([]imported, error) {
	table := crontab{shell: "sh", system: system}
	var all []imported
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if table.variable(line) {
			continue
		}
		s, err := table.line(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		s.from = fmt.Sprintf("line %d: %s", i+1, line)
		all = append(all, s)
	}
	return all, nil
}

// variable takes a line such as NAME=value, and reports whether it was one.
func (c *crontab) variable(line string) bool {
	name, value, ok := strings.Cut(line, "=")
	name = strings.TrimSpace(name)
	if !ok || name == "" || strings.ContainsAny(name, " \t*/,@") {
		return false
	}
	value = strings.Trim(strings.TrimSpace(value), `"'`)
	switch name {
	case "CRON_TZ", "TZ":
		c.zone = value
	case "SHELL":
		c.shell = path.Base(value)
	default:
		c.notes = append(c.notes, fmt.Sprintf("the variable %s is not set for the command", name))
	}
	return true
}

// line reads a line with a command.
func (c *crontab) line(line string) (imported, error) {
	count := 5
	if strings.HasPrefix(line, "@") {
		count = 1
	}
	fields := count
	if c.system {
		fields++
	}
	words, command := cutFields(line, fields)
	if len(words) < fields || command == "" {
		return imported{}, fmt.Errorf("%q is not a time and a command", line)
	}
	expression := strings.Join(words[:count], " ")
	if expression == "@reboot" {
		return imported{}, fmt.Errorf("@reboot has no time: remove the line, and start %q in another way", command)
	}
	s := imported{notes: append([]string{}, c.notes...)}
	if c.system {
		s.notes = append(s.notes, fmt.Sprintf("it ran as user %s: run a worker as that user", words[count]))
	}
	s.ID = cmp.Or(slug(path.Base(strings.Fields(command)[0])), "cron")
	s.Spec = schedule.Spec{Cron: []string{expression}, TimeZone: c.zone}
	s.Policies = schedule.Policies{Overlap: schedule.OverlapAllowAll, CatchupWindow: crontabCatchup}
	input, err := c.input(command)
	s.Action = schedule.Action{Type: builtin.Exec, Input: input}
	return s, err
}

// input is that of the exec action: the command for the shell, and what stands after the first % on its standard input.
func (c *crontab) input(command string) (json.RawMessage, error) {
	command, stdin := splitPercent(command)
	input := map[string]any{"command": c.shell, "args": []string{"-c", command}}
	if stdin != "" {
		input["stdin"] = stdin
	}
	return schedule.EncodeJSON(input)
}

// splitPercent does with % what cron does: the first one ends the command, the others are line ends; \% is one.
func splitPercent(command string) (before, after string) {
	const escaped = "\x00"
	command = strings.ReplaceAll(command, `\%`, escaped)
	before, after, _ = strings.Cut(command, "%")
	after = strings.ReplaceAll(after, "%", "\n")
	return strings.ReplaceAll(strings.TrimSpace(before), escaped, "%"), strings.ReplaceAll(after, escaped, "%")
}

// cutFields takes so many words from the beginning of a line.
func cutFields(line string, count int) (words []string, rest string) {
	rest = line
	for range count {
		rest = strings.TrimLeft(rest, " \t")
		if rest == "" {
			return words, ""
		}
		end := strings.IndexAny(rest, " \t")
		if end < 0 {
			return append(words, rest), ""
		}
		words, rest = append(words, rest[:end]), rest[end:]
	}
	return words, strings.TrimSpace(rest)
}
