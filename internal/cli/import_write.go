package cli

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/carillon-scheduler/carillon/schedule"
)

// leftOutError says which entries an import has left out.
type leftOutError struct {
	// problems name each of them, with the reason; total counts all entries.
	problems []string
	total    int
}

func (e *leftOutError) Error() string {
	if e.total == 1 {
		return e.problems[0]
	}
	are := "entries are"
	if len(e.problems) == 1 {
		are = "entry is"
	}
	return fmt.Sprintf("%s\n%d %s left out, of %d", strings.Join(e.problems, "\n"), len(e.problems), are, e.total)
}

// writeImported prints the schedules that can be applied, and names all that cannot.
func (a *app) writeImported(flags *importFlags, all []imported) error {
	if err := flags.check(); err != nil {
		return err
	}
	if len(all) == 0 {
		_, _ = fmt.Fprintln(a.env.Stderr, "nothing to import")
		return nil
	}
	nameImported(flags.prefix, all)
	texts := make([]string, len(all))
	left := leftOutError{total: len(all)}
	for i := range all {
		if texts[i] = all[i].write(flags); all[i].problem != nil {
			left.problems = append(left.problems, comment(all[i].from)+": "+comment(all[i].problem.Error()))
		}
	}
	if len(left.problems) == len(all) {
		return usagef("%w", &left)
	}
	if err := a.printImported(flags, all, texts, &left); err != nil || len(left.problems) == 0 {
		return err
	}
	return &left
}

// write returns a schedule as a document of YAML. It sets the problem of one that cannot be applied.
func (s *imported) write(flags *importFlags) string {
	if s.problem != nil {
		return ""
	}
	flags.complete(s)
	if s.problem = s.validate(); s.problem != nil {
		return ""
	}
	text, err := schedule.EncodeYAML(s.manifest)
	s.problem = err
	return string(text)
}

// printImported writes the documents, what was left out in comments on top, and the notes once more to standard error.
func (a *app) printImported(flags *importFlags, all []imported, texts []string, left *leftOutError) error {
	var out strings.Builder
	for _, problem := range left.problems {
		out.WriteString("# left out: " + problem + "\n")
	}
	if flags.zone == "" && anyInHostZone(all) {
		const remark = "where the source names no time zone, UTC is assumed; --time-zone names another"
		out.WriteString("# note: " + remark + "\n")
		_, _ = fmt.Fprintf(a.env.Stderr, "note: %s\n", remark)
	}
	for i := range all {
		s := &all[i]
		if s.problem != nil {
			continue
		}
		fmt.Fprintf(&out, "---\n# %s\n", comment(s.from))
		for _, note := range s.notes {
			out.WriteString("# note: " + comment(note) + "\n")
			_, _ = fmt.Fprintf(a.env.Stderr, "%s: %s: %s\n", comment(s.from), s.ID, comment(note))
		}
		out.WriteString(texts[i])
	}
	_, err := fmt.Fprint(a.env.Stdout, out.String())
	return err
}

func anyInHostZone(all []imported) bool {
	for i := range all {
		if all[i].problem == nil && all[i].hostZone {
			return true
		}
	}
	return false
}

// nameImported puts the prefix in front of the IDs and makes those that stand more than once different: the first keeps
// its own, the others get the next number that no entry has.
func nameImported(prefix string, all []imported) {
	taken, next := map[string]bool{}, map[string]int{}
	for i := range all {
		all[i].ID = prefix + all[i].ID
		taken[all[i].ID] = true
	}
	for i := range all {
		if all[i].problem != nil {
			continue
		}
		base := all[i].ID
		n, again := next[base]
		if !again {
			next[base] = 2
			continue
		}
		for taken[numbered(base, n)] {
			n++
		}
		all[i].ID = numbered(base, n)
		taken[all[i].ID], next[base] = true, n+1
	}
}

func numbered(id string, n int) string { return fmt.Sprintf("%s-%d", id, n) }

// comment makes a text fit on one line of a comment, whatever is in it.
func comment(text string) string {
	var line strings.Builder
	for _, r := range strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ") {
		if unicode.IsPrint(r) {
			line.WriteRune(r)
			continue
		}
		line.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return line.String()
}

// slug makes an ID of a text, of so many bytes at most: lower-case words joined by dashes.
func slug(text string, longest int) string {
	var id strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '.':
			id.WriteRune(r)
		case id.Len() > 0 && !strings.HasSuffix(id.String(), "-"):
			id.WriteByte('-')
		}
	}
	return strings.Trim(id.String()[:min(id.Len(), longest)], "-.")
}
