package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/worker"
)

const ledgerSuffix = ".jsonl"

// RegisterWork makes a worker note every run in a file, at its beginning and at its end. Each life of a worker process has its
// own file. What is written to it survives the process, but perhaps not the machine. The returned function closes it.
func RegisterWork(w *worker.Worker, path string) (closeLedger func() error, err error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	l := ledger{file}
	w.Register(actionType, l.run)
	return file.Close, nil
}

type ledger struct{ file *os.File }

func (l ledger) run(ctx context.Context, run *worker.Run) (any, error) {
	var input work
	if err := run.Decode(&input); err != nil {
		return nil, err
	}
	if err := l.note(run, false, nil); err != nil {
		return nil, err
	}
	timer := time.NewTimer(time.Duration(input.Work))
	defer timer.Stop()
	var cause error
	select {
	case <-timer.C:
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	return nil, errors.Join(cause, l.note(run, true, cause))
}

// note appends one line, in one write.
func (l ledger) note(run *worker.Run, end bool, cause error) error {
	n := note{
		At: time.Now().UTC(), End: end, ScheduleID: run.ScheduleID, RequestID: run.RequestID,
		Nominal: run.NominalTime, Attempt: run.Attempt,
	}
	if cause != nil {
		n.Cause = cause.Error()
	}
	line, err := json.Marshal(n)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(line, '\n'))
	return err
}

// readLedgers reads what the workers noted in a folder.
func readLedgers(dir string) ([]note, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+ledgerSuffix))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	var notes []note
	for _, path := range paths {
		life := strings.TrimSuffix(filepath.Base(path), ledgerSuffix)
		if notes, err = appendLedger(notes, path, life); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return notes, nil
}

func appendLedger(notes []note, path, life string) ([]note, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		note := note{Life: life}
		err := json.Unmarshal(lines.Bytes(), &note)
		switch {
		case err == nil:
			notes = append(notes, note)
		case lines.Scan():
			return nil, err
		default: // the last line is being written, or its writer was killed over it
		}
	}
	return notes, lines.Err()
}
