package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/carillon-scheduler/carillon/schedule"
)

// memoSet is the memo field that says from which set of files a schedule was applied.
const memoSet = "carillon.apply.set"

// manifest is a schedule in a file.
type manifest struct {
	ID string `json:"id"`
	schedule.Schedule

	file string
	// keepState says that the file names no field of the state, so the stored state stays.
	keepState bool
}

// readManifests reads the schedules of a file or folder; "-" stands for standard input. From a folder it reads all files, also in
// subfolders, whose names end in .yaml, .yml or .json. The error lists everything that is wrong with any of them. Schedules that describe
// has printed must belong to the given namespace.
func (e Env) readManifests(path, namespace string) ([]manifest, error) {
	files, err := filesOf(path)
	if err != nil {
		return nil, usagef("--file: %w", err)
	}
	var all []manifest
	var problems []error
	described := false
	for _, file := range files {
		r := manifestReader{file: file, namespace: namespace}
		r.read(e)
		all, problems, described = append(all, r.found...), append(problems, r.problems...), described || r.described
	}
	if len(all)+len(problems) == 0 {
		return nil, usagef("--file: there is no schedule in %s", path)
	}
	problems = append(problems, checkManifests(all)...)
	if len(problems) > 0 {
		return nil, usagef("%w", errors.Join(problems...))
	}
	if described {
		_, _ = fmt.Fprintln(e.Stderr, "note: namespace, info and conflictToken, which describe adds, are left out; "+
			"carillon schedule export writes files without them")
	}
	return all, nil
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

// validate refuses a schedule that could not be created.
func (m *manifest) validate() error {
	request := schedule.CreateRequest{ID: m.ID, Schedule: m.Schedule}
	return request.Validate()
}

// checkManifests finds errors before anything is changed.
func checkManifests(all []manifest) (problems []error) {
	files := map[string]string{}
	for i := range all {
		m := &all[i]
		if err := m.validate(); err != nil {
			problems = append(problems, fmt.Errorf("%s: schedule %q: %w", m.file, m.ID, err))
		}
		if other, twice := files[m.ID]; twice && m.ID != "" {
			problems = append(problems, fmt.Errorf("schedule %q is defined twice: in %s and in %s", m.ID, other, m.file))
		}
		files[m.ID] = m.file
	}
	return problems
}

// mark stores in each schedule the set that it belongs to.
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

// isOfSet reports whether a schedule was applied as part of a set.
func isOfSet(s *schedule.Schedule, set string) bool {
	var name string
	return json.Unmarshal(s.Action.Memo[memoSet], &name) == nil && name == set
}
