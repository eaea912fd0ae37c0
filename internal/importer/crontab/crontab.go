// Package crontab turns the lines of a crontab into schedules with the built-in action exec. It reads the file as cronie does.
//
// [Parse] is pure. The package imports schedule, worker/builtin for the names of its actions, internal/importer and
// internal/apitext.
package crontab

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/importer"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker/builtin"
)

// catchup is the catch-up window of the schedules. Cron never catches up, so the default of a year would surprise.
const catchup = schedule.Duration(time.Hour)

// blanks separate fields. Other white space is part of a field.
const blanks = " \t"

// Parse reads crontab(5) as cronie does. Each line with a command is an entry, even if it has a problem. In a system crontab, a
// user stands between time and command.
func Parse(text string, system bool) []importer.Entry {
	read := table{system: system}
	lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
	var all []importer.Entry
	for i, line := range lines {
		line = strings.TrimLeft(strings.TrimSuffix(line, "\r"), blanks)
		if line == "" || strings.HasPrefix(line, "#") || read.set(line) {
			continue
		}
		s, err := read.entry(line)
		s.From, s.Problem = fmt.Sprintf("line %d: %s", i+1, line), err
		if i == len(lines)-1 {
			s.Note("cron ignores a last line that does not end")
		}
		all = append(all, s)
	}
	return all
}

// table is the part of a file that has been read so far.
type table struct {
	system    bool
	variables []variable
}

// entry reads a line with a command.
func (c *table) entry(line string) (s importer.Entry, err error) {
	if !utf8.ValidString(line) {
		return s, errors.New("is not valid UTF-8")
	}
	if rest, quiet := strings.CutPrefix(line, "-"); quiet {
		line = rest
		s.Note(`the "-" in front, which keeps the run out of the log of cron, means nothing here`)
	}
	count := 5
	if strings.HasPrefix(line, "@") {
		count = 1
	}
	words, rest := cutFields(line, count)
	if len(words) < count {
		return s, errors.New("is not a time and a command")
	}
	if err := readTimes(&s, words); err != nil {
		return s, err
	}
	if c.system {
		users, command := cutFields(rest, 1)
		if len(users) == 1 {
			s.Note("it ran as user %s: run a worker as that user", users[0])
		}
		rest = command
	}
	if err := c.command(&s, rest); err != nil {
		return s, err
	}
	c.apply(&s)
	return s, nil
}

// command reads what follows the times and the user.
func (c *table) command(s *importer.Entry, text string) error {
	text, err := cutOptions(s, text)
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
		s.Note(`the command is named "root": give --system if this is a system crontab, which has a user there`)
	}
	input := map[string]any{"command": c.shell(), "args": []string{"-c", command}}
	if stdin != "" {
		input["stdin"] = stdin
	}
	s.ID = idOf(name)
	s.Policies = schedule.Policies{Overlap: schedule.OverlapAllowAll, CatchupWindow: catchup}
	s.Action.Type = builtin.Exec
	s.Action.Input, err = apitext.EncodeJSON(input)
	return err
}

// cutFields cuts count words off the beginning of a line, and the blanks after them.
func cutFields(line string, count int) (words []string, rest string) {
	rest = strings.TrimLeft(line, blanks)
	for range count {
		end := strings.IndexAny(rest, blanks)
		switch {
		case rest == "":
			return words, ""
		case end < 0:
			return append(words, rest), ""
		}
		words, rest = append(words, rest[:end]), strings.TrimLeft(rest[end:], blanks)
	}
	return words, rest
}
