package render

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
)

const (
	// reasonWidth is how many characters of a reason fit beside the other columns.
	reasonWidth = 80
	// bodyLimit bounds how many bytes of a body are shown. The other formats have the whole body.
	bodyLimit = 16 << 10
)

// Letters writes one line for each dead letter.
func Letters(w io.Writer, letters []deadletter.Letter, view View) error {
	if len(letters) == 0 {
		_, err := io.WriteString(w, "no dead letters\n")
		return err
	}
	rows := [][]string{{"SEQ", "STORED", "POOL", "SCHEDULE OR WORKFLOW", "DELIVERIES", "SIZE", "REASON"}}
	for i := range letters {
		l := &letters[i]
		rows = append(rows, []string{
			l.Number.String(), Relative(l.Time, view.Now), giverOf(l), orDash(ownerOf(l)),
			strconv.FormatUint(l.Deliveries, 10), strconv.Itoa(l.Size), Shorten(Printable(l.Reason), reasonWidth),
		})
	}
	return view.Table(w, rows)
}

// LetterShown writes everything known about a dead letter, and as much of its contents as fits.
func LetterShown(w io.Writer, m *deadletter.Message, view View) error {
	var out strings.Builder
	rows := filled([][]string{
		{"Letter", view.paint(Bold, m.Number.String())},
		{"Stored", moment(m.Time, time.UTC) + ", " + Relative(m.Time, view.Now)},
		{"Pool", giverOf(&m.Letter)},
		{"Reason", Printable(m.Reason)},
		{"Deliveries", strconv.FormatUint(m.Deliveries, 10)},
		{"Schedule", scheduleOf(&m.Letter)},
		{"Workflow", workflowIn(&m.Letter)},
		{"Subject", originSubject(&m.Letter)},
		{"Stream", originText(m.Origin)},
		{"Size", sizeText(m)},
	})
	_ = Table(&out, rows) // a strings.Builder does not fail
	view.section(&out, "Headers", headerRows(m.Headers))
	fmt.Fprintf(&out, "\n%s\n", view.paint(Bold, "Body ("+m.Body.Format+")"))
	writeBody(&out, m)
	_, err := io.WriteString(w, out.String())
	return err
}

// giverOf says which pool or worker has given a message up.
func giverOf(l *deadletter.Letter) string {
	if l.TaskQueue == "" {
		return Printable(l.Pool)
	}
	return Printable(l.Pool + " (" + l.Namespace + "/" + l.TaskQueue + ")")
}

// originSubject says on which subject a message was, and how far the letter can be trusted about that.
func originSubject(l *deadletter.Letter) string {
	subject := Printable(l.Origin.Subject)
	switch {
	case l.Foreign:
		subject += ", which cannot be: it is forged, and cannot be replayed"
	case l.Unproven && subject != "":
		subject += ", as it says: any worker may have written it"
	}
	return subject
}

func originText(o deadletter.Origin) string {
	if o.Stream == "" {
		return ""
	}
	return fmt.Sprintf("%s, message %d", Printable(o.Stream), o.Sequence)
}

func sizeText(m *deadletter.Message) string {
	if m.Cut {
		return fmt.Sprintf("%d bytes, cut to %d: it cannot be replayed", m.Size, len(m.Data))
	}
	return fmt.Sprintf("%d bytes", m.Size)
}

func headerRows(headers map[string][]string) [][]string {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, value := range headers[name] {
			rows = append(rows, []string{Printable(name), Printable(value)})
		}
	}
	return rows
}

// writeBody writes the lines of a body, indented.
func writeBody(out *strings.Builder, m *deadletter.Message) {
	text := m.Body.Text
	switch m.Body.Format {
	case deadletter.FormatJSON, deadletter.FormatRecord:
		var indented bytes.Buffer
		if json.Indent(&indented, m.Body.Value, "", "  ") == nil {
			text = indented.String()
		}
	case deadletter.FormatBase64:
		text = hex.Dump(m.Data[:min(len(m.Data), bodyLimit/4)])
		if rest := len(m.Data) - bodyLimit/4; rest > 0 {
			text += fmt.Sprintf("… %d more bytes; -o json has them", rest)
		}
	}
	if rest := len(text) - bodyLimit; rest > 0 && m.Body.Format != deadletter.FormatBase64 {
		text = fmt.Sprintf("%s\n… %d more bytes; -o json has them", strings.ToValidUTF8(text[:bodyLimit], ""), rest)
	}
	if len(m.Data) == 0 {
		text = "empty"
	}
	for line := range strings.Lines(strings.TrimSuffix(text, "\n")) {
		out.WriteString(columnGap + Printable(strings.TrimRight(line, "\r\n")) + "\n")
	}
}

func scheduleOf(l *deadletter.Letter) string {
	if l.ScheduleID == "" {
		return ""
	}
	return Printable(l.Namespace + "/" + l.ScheduleID)
}

// workflowIn names the workflow that a letter is about; empty if it is about none.
func workflowIn(l *deadletter.Letter) string {
	if l.WorkflowID == "" {
		return ""
	}
	return Printable(l.Namespace + "/" + l.WorkflowID)
}

// ownerOf names the schedule or the workflow that a letter is about.
func ownerOf(l *deadletter.Letter) string {
	if workflow := workflowIn(l); workflow != "" {
		return workflow + " (workflow)"
	}
	return scheduleOf(l)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Replayed writes one line for each letter that was sent again.
func Replayed(w io.Writer, replayed []deadletter.Replayed) error {
	var out strings.Builder
	for i := range replayed {
		r := &replayed[i]
		fmt.Fprintf(&out, "replayed %s on %s", r.Number, Printable(r.Origin.Subject))
		if r.Superseded {
			out.WriteString(": a newer message waits there already")
		}
		out.WriteString("\n")
	}
	if len(replayed) == 0 {
		out.WriteString("nothing replayed\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}
