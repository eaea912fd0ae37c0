package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

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

The file is read as cronie reads it. CRON_TZ and SHELL are carried over, and
RANDOM_DELAY and a minute such as 0~59 become a jitter. Other variables, TZ among
them, concern the command and not the times: they are pointed out, as is the user of a
system crontab. What has no time, such as @reboot, is left out.

As with cron, a run does not wait for the one before. With --time-zone, times that the
change of the clock skips or repeats are treated as cron does in the zone of its host;
with CRON_TZ they never come, or come twice, as they do there. What cron misses while
it is down is made up for within the catch-up window, an hour here; change it in the
file.`,
		Example: `  crontab -l | carillon import crontab - --time-zone Europe/Berlin
  carillon import crontab /etc/crontab --system`,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.env.readInput(args[0])
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			return a.writeImported(&flags, parseCrontab(string(data), system))
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

// crontabBlanks are what separates fields. Other white space belongs to them.
const crontabBlanks = " \t"

// parseCrontab reads crontab(5) as cronie does. Each line with a command is an entry, those with a problem included.
func parseCrontab(text string, system bool) []imported {
	table := crontab{system: system}
	lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
	var all []imported
	for i, line := range lines {
		line = strings.TrimLeft(strings.TrimSuffix(line, "\r"), crontabBlanks)
		if line == "" || strings.HasPrefix(line, "#") || table.set(line) {
			continue
		}
		s, err := table.entry(line)
		s.from, s.problem = fmt.Sprintf("line %d: %s", i+1, line), err
		if i == len(lines)-1 {
			s.note("cron ignores a last line that does not end")
		}
		all = append(all, s)
	}
	return all
}

// crontab is a file as far as it has been read.
type crontab struct {
	system    bool
	variables []crontabVariable
}

// entry reads a line with a command.
func (c *crontab) entry(line string) (s imported, err error) {
	if !utf8.ValidString(line) {
		return s, errors.New("is not valid UTF-8")
	}
	if rest, quiet := strings.CutPrefix(line, "-"); quiet {
		line = rest
		s.note(`the "-" in front, which keeps the run out of the log of cron, means nothing here`)
	}
	count := 5
	if strings.HasPrefix(line, "@") {
		count = 1
	}
	words, rest := cutFields(line, count)
	if len(words) < count {
		return s, errors.New("is not a time and a command")
	}
	if err := crontabTimes(&s, words); err != nil {
		return s, err
	}
	if c.system {
		users, command := cutFields(rest, 1)
		if len(users) == 1 {
			s.note("it ran as user %s: run a worker as that user", users[0])
		}
		rest = command
	}
	if err := c.command(&s, rest); err != nil {
		return s, err
	}
	c.apply(&s)
	return s, nil
}

// command reads what follows the times, and the user.
func (c *crontab) command(s *imported, text string) error {
	text, err := crontabOption(s, text)
	if err != nil {
		return err
	}
	if text == "" {
		return errors.New("is not a time and a command")
	}
	command, stdin := splitPercent(text)
	switch {
	case strings.Contains(text, "\x00"):
		return errors.New("the command has a zero byte")
	case builtin.HasPlaceholder(command), builtin.HasPlaceholder(stdin):
		return errors.New("the command has a word in two pairs of braces, which the action exec takes for a placeholder: put the command into a script")
	}
	name, _, _ := strings.Cut(command, " ")
	if name == "root" && !c.system {
		s.note(`the command is named "root": give --system if this is a system crontab, which has a user there`)
	}
	input := map[string]any{"command": c.shell(), "args": []string{"-c", command}}
	if stdin != "" {
		input["stdin"] = stdin
	}
	s.ID = crontabID(name)
	s.Policies = schedule.Policies{Overlap: schedule.OverlapAllowAll, CatchupWindow: crontabCatchup}
	s.Action.Type = builtin.Exec
	s.Action.Input, err = schedule.EncodeJSON(input)
	return err
}

// cutFields takes so many words from the beginning of a line, and the blanks after them.
func cutFields(line string, count int) (words []string, rest string) {
	rest = strings.TrimLeft(line, crontabBlanks)
	for range count {
		end := strings.IndexAny(rest, crontabBlanks)
		switch {
		case rest == "":
			return words, ""
		case end < 0:
			return append(words, rest), ""
		}
		words, rest = append(words, rest[:end]), strings.TrimLeft(rest[end:], crontabBlanks)
	}
	return words, rest
}
