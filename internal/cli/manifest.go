package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/carillon-scheduler/carillon/schedule"
)

// memoSet is the memo of an action that says which set of files its schedule was applied from.
const memoSet = "carillon.apply.set"

// manifest is a schedule as a file has it.
type manifest struct {
	ID string `json:"id"`
	schedule.Schedule

	file string
}

// readManifests reads the schedules of a file or folder. A folder stands for all files in it and beneath it whose names end in
// .yaml, .yml or .json; "-" for standard input.
func (e Env) readManifests(path string) ([]manifest, error) {
	files, err := filesOf(path)
	if err != nil {
		return nil, usagef("--file: %w", err)
	}
	var all []manifest
	for _, file := range files {
		found, err := e.readManifest(file)
		if err != nil {
			return nil, usagef("%s: %w", file, err)
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, usagef("--file: there is no schedule in %s", path)
	}
	return all, checkManifests(all)
}

func filesOf(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(at)) {
			files = append(files, at)
		}
		return err
	})
	return files, err
}

func (e Env) readManifest(file string) ([]manifest, error) {
	data, err := e.readInput(file)
	if err != nil {
		return nil, err
	}
	found, err := schedule.DecodeYAMLDocuments[manifest](data)
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].file = file
		found[i].Action.TaskQueue = cmp.Or(found[i].Action.TaskQueue, defaultTaskQueue)
	}
	return found, nil
}

// validate refuses what could not be created.
func (m *manifest) validate() error {
	request := schedule.CreateRequest{ID: m.ID, Schedule: m.Schedule}
	return request.Validate()
}

// checkManifests finds what would fail before anything is changed.
func checkManifests(all []manifest) error {
	files := map[string]string{}
	for i := range all {
		m := &all[i]
		if err := m.validate(); err != nil {
			return usagef("%s: schedule %q: %w", m.file, m.ID, err)
		}
		if other, twice := files[m.ID]; twice {
			return usagef("schedule %q stands twice: in %s and in %s", m.ID, other, m.file)
		}
		files[m.ID] = m.file
	}
	return nil
}

// mark notes in each schedule which set it belongs to.
func mark(all []manifest, set string) error {
	name, err := json.Marshal(set)
	if err != nil {
		return fmt.Errorf("--set: %w", err)
	}
	for i := range all {
		memo := map[string]json.RawMessage{memoSet: name}
		for key, value := range all[i].Action.Memo {
			if key != memoSet {
				memo[key] = value
			}
		}
		all[i].Action.Memo = memo
	}
	return nil
}

// isOfSet reports whether a schedule was applied as one of a set.
func isOfSet(s *schedule.Schedule, set string) bool {
	var name string
	return json.Unmarshal(s.Action.Memo[memoSet], &name) == nil && name == set
}
