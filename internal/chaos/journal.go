package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// journal is the log of the run itself, beside those of its processes, for a reader who looks into its findings.
type journal struct {
	dir  string
	file *os.File
}

func openJournal(dir string) (*journal, error) {
	file, err := os.OpenFile(filepath.Join(dir, "journal.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{dir, file}, nil
}

// note writes a line. It is safe for concurrent use.
func (j *journal) note(what string, err error) {
	if err != nil {
		what += ": " + err.Error()
	}
	_, _ = fmt.Fprintf(j.file, "%s %s\n", time.Now().UTC().Format(time.RFC3339Nano), what)
}

// evidence writes the evidence that a judgement is based on.
func (j *journal) evidence(e *evidence) {
	for name, value := range map[string]any{"requests": e.Requests, "events": e.Events, "lives": e.Lives, "schedules": e.Schedules, "workflows": e.Workflows} {
		text, err := json.MarshalIndent(value, "", " ")
		if err == nil {
			err = os.WriteFile(filepath.Join(j.dir, name+".json"), text, 0o600)
		}
		if err != nil {
			j.note("cannot write "+name, err)
		}
	}
}

func (j *journal) close() { _ = j.file.Close() }
