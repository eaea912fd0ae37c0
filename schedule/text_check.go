package schedule

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// checkJSON checks what encoding/json would let pass whatever the target type is: syntax, encoding, nesting, duplicate
// keys, trailing text. It needs memory in proportion to the data, and no stack.
func checkJSON(data []byte, maxDepth int) error {
	if !utf8.Valid(data) {
		return Errorf(CodeInvalidArgument, "is not valid UTF-8")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return syntaxError(data, err)
	}
	return checkStructure(data, maxDepth)
}

// syntaxError says where in data the error is, in the terms of a text editor.
func syntaxError(data []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return Errorf(CodeInvalidArgument, "is not valid JSON: %v", err)
	}
	read := data[:min(max(syntax.Offset, 0), int64(len(data)))]
	line := 1 + bytes.Count(read, []byte("\n"))
	column := len(read) - 1 - bytes.LastIndexByte(read, '\n')
	return Errorf(CodeInvalidArgument, "is not valid JSON: line %d, column %d: %v", line, max(column, 1), err)
}

// checkStructure looks for nesting beyond maxDepth and for duplicate keys in data, which is valid JSON.
func checkStructure(data []byte, maxDepth int) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var open containers
	for {
		token, err := decoder.Token()
		if err != nil {
			return Errorf(CodeInvalidArgument, "is not valid JSON: %v", err)
		}
		switch token {
		case json.Delim('{'):
			open = append(open, container{keys: make(map[string]struct{})})
		case json.Delim('['):
			open = append(open, container{last: step{index: -1}})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > maxDepth {
			return tooDeep(maxDepth)
		}
		if len(open) == 0 {
			return nil
		}
		if err := open.next(decoder); err != nil {
			return err
		}
	}
}

func tooDeep(limit int) error {
	return Errorf(CodeInvalidArgument, "is nested too deeply: at most %d levels are accepted", limit)
}

// container is an object or list that is being read.
type container struct {
	// keys are the keys seen so far; nil for a list.
	keys map[string]struct{}
	// last leads to the value that is being read.
	last step
}

// containers are those around the place that is being read, outermost first.
type containers []container

// next moves the innermost container to its next value, if it has one.
func (c containers) next(decoder *json.Decoder) error {
	inner := &c[len(c)-1]
	switch {
	case !decoder.More():
		return nil
	case inner.keys == nil:
		inner.last.index++
		return nil
	}
	token, err := decoder.Token()
	if err != nil {
		return Errorf(CodeInvalidArgument, "is not valid JSON: %v", err)
	}
	key, _ := token.(string)
	inner.last.key = &key
	if _, seen := inner.keys[key]; seen {
		return Invalid(c.trail().String(), "stands twice: use each key once")
	}
	inner.keys[key] = struct{}{}
	return nil
}

func (c containers) trail() trail {
	way := make(trail, len(c))
	for i := range c {
		way[i] = c[i].last
	}
	return way
}
