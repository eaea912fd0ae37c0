package render

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/diagnosis"
	"github.com/carillon-scheduler/carillon/internal/presence"
)

// Cluster writes the parts of an installation. Times are in the given zone.
func Cluster(w io.Writer, f *diagnosis.Facts, zone *time.Location, view View) error {
	var out strings.Builder
	rows := clusterRows(f, zone, view)
	for _, row := range filled(rows) {
		fmt.Fprintf(&out, "%s%s%s\n", Pad(row[0], len("Namespaces")), columnGap, row[1])
	}
	if f.Cluster != nil {
		view.section(&out, "Streams and buckets", streamRows(f, view.Now))
		view.section(&out, "Frontends", frontendRows(f.Frontends))
		view.section(&out, "Processes", processRows(f.Processes))
		view.section(&out, "Task queues", queueRows(f.Queues, view.Now))
	}
	view.section(&out, "Could not be found out", problemRows(f.Problems))
	_, err := io.WriteString(w, out.String())
	return err
}

func clusterRows(f *diagnosis.Facts, zone *time.Location, view View) [][]string {
	where := fmt.Sprintf("%s, server %s, version %s", f.NATS.URL, oneLine(f.NATS.Server), f.NATS.Version)
	if f.NATS.Cluster != "" {
		where += ", cluster " + oneLine(f.NATS.Cluster)
	}
	rows := [][]string{
		{"Prefix", f.Prefix},
		{"NATS", where},
		{"Servers", strings.Join(f.NATS.Servers, " ")},
		{"Stored", storedText(f.NATS)},
	}
	if f.Cluster == nil {
		return append(rows, []string{"State", view.paint(Yellow, "there is no installation of this prefix")})
	}
	return append(rows,
		[]string{"Created", moment(f.Cluster.Created, zone) + ", " + Relative(f.Cluster.Created, view.Now)},
		[]string{"Format", "version " + strconv.Itoa(f.Cluster.FormatVersion)},
		[]string{"Shards", strconv.Itoa(f.Cluster.Shards)},
		[]string{"Replicas", strconv.Itoa(f.Cluster.Replicas)},
		[]string{"Namespaces", strconv.Itoa(f.Namespaces)},
	)
}

func storedText(n diagnosis.NATS) string {
	if !n.JetStream {
		return "no JetStream for this account"
	}
	if n.StoreLimit > 0 {
		return diagnosis.SizeText(n.Stored) + " of " + diagnosis.SizeText(n.StoreLimit)
	}
	return diagnosis.SizeText(n.Stored)
}

func streamRows(f *diagnosis.Facts, now time.Time) [][]string {
	rows := [][]string{{"NAME", "MESSAGES", "SIZE", "OLDEST", "REPLICAS", "LEADER"}}
	for i := range f.Streams {
		s := &f.Streams[i]
		if s.Missing {
			rows = append(rows, []string{s.Name, "missing"})
			continue
		}
		oldest := "-"
		if !s.First.IsZero() {
			oldest = Relative(s.First, now)
		}
		rows = append(rows, []string{
			s.Name, strconv.FormatUint(s.Messages, 10), diagnosis.SizeText(int64(s.Bytes)), oldest,
			strconv.Itoa(s.Replicas), oneLine(cmp.Or(s.Leader, "none")),
		})
	}
	return rows
}

func frontendRows(frontends []diagnosis.Frontend) [][]string {
	if len(frontends) == 0 {
		return [][]string{{"none answers"}}
	}
	rows := [][]string{{"ID", "VERSION"}}
	for _, frontend := range frontends {
		rows = append(rows, []string{oneLine(frontend.ID), oneLine(frontend.Version)})
	}
	return rows
}

func processRows(processes []presence.Process) [][]string {
	if len(processes) == 0 {
		return nil
	}
	rows := [][]string{{"HOST", "PROCESS", "ROLES", "VERSION", "TIME ZONES", "FROM"}}
	for i := range processes {
		p := &processes[i]
		rows = append(rows, []string{
			oneLine(p.Host), strconv.Itoa(p.PID), oneLine(strings.Join(p.Roles, " ")), oneLine(p.Version),
			oneLine(p.Zones + " (" + p.ZonesDigest + ")"), oneLine(cmp.Or(p.ZonesFrom, "-")),
		})
	}
	return rows
}

func queueRows(queues []diagnosis.Queue, now time.Time) [][]string {
	if len(queues) == 0 {
		return nil
	}
	rows := [][]string{{"NAMESPACE", "QUEUE", "WORKER", "WAITING", "HELD", "OLDEST"}}
	for _, q := range queues {
		worker, oldest := "no", "-"
		if q.Worker {
			worker = "yes"
		}
		if !q.Oldest.IsZero() {
			oldest = Relative(q.Oldest, now)
		}
		rows = append(rows, []string{
			oneLine(q.Namespace), oneLine(q.Name), worker, strconv.Itoa(q.Waiting), strconv.Itoa(q.Held), oldest,
		})
	}
	return rows
}

func problemRows(problems []string) [][]string {
	var rows [][]string
	for _, problem := range problems {
		rows = append(rows, []string{oneLine(problem)})
	}
	return rows
}

// Health writes one line for each check, and below each check that is not well, what to do about it.
func Health(w io.Writer, checks []diagnosis.Check, view View) error {
	width := 0
	for i := range checks {
		width = max(width, len(checks[i].Name))
	}
	var out strings.Builder
	for i := range checks {
		c := &checks[i]
		status := Pad(string(c.Status), len(diagnosis.Warning))
		out.WriteString(view.paint(healthColor(c.Status), status) + columnGap + Pad(c.Name, width) + columnGap)
		out.WriteString(oneLine(c.Detail) + "\n")
		if c.Next != "" {
			out.WriteString(Pad("", len(status)+len(columnGap)+width) + columnGap + "next: " + oneLine(c.Next) + "\n")
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func healthColor(status diagnosis.Status) Color {
	switch status {
	case diagnosis.OK:
		return Green
	case diagnosis.Warning:
		return Yellow
	}
	return Red
}
