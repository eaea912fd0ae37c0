package jsontext

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Check checks what encoding/json would let pass whatever the target type is: syntax, encoding, nesting, duplicate
// keys, trailing text. It needs memory in proportion to the data, and no stack.
func Check(data []byte, maxDepth int) *Problem {
	if !utf8.Valid(data) {
		return Problemf("", "is not valid UTF-8")
	}
	if !json.Valid(data) {
		var whole json.RawMessage
		return syntaxError(data, json.Unmarshal(data, &whole))
	}
	return cmp.Or(checkSurrogates(data), checkStructure(data, maxDepth))
}

// syntaxError says where in data the error is, in the terms of a text editor.
func syntaxError(data []byte, err error) *Problem {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return Problemf("", "is not valid JSON: %v", err)
	}
	return Problemf("", "is not valid JSON: %s: %v", placeAfter(data[:min(max(syntax.Offset, 0), int64(len(data)))]), err)
}

// placeAfter names the last byte of what has been read.
func placeAfter(read []byte) string {
	line := 1 + bytes.Count(read, []byte("\n"))
	column := len(read) - 1 - bytes.LastIndexByte(read, '\n')
	return fmt.Sprintf("line %d, column %d", line, max(column, 1))
}

// checkSurrogates looks in data, which is valid JSON, for an escape that is half of a surrogate pair. encoding/json reads each as the
// same character, so that two texts would be one.
func checkSurrogates(data []byte) *Problem {
	for at := 0; ; {
		next := bytes.IndexByte(data[at:], '\\')
		if next < 0 {
			return nil
		}
		at += next
		first, ok := escapedUnit(data[at:])
		switch second, follows := escapedUnit(data[min(at+unitBytes, len(data)):]); {
		case !ok:
			at += 2
		case !utf16.IsSurrogate(first):
			at += unitBytes
		case follows && utf16.DecodeRune(first, second) != utf8.RuneError:
			at += 2 * unitBytes
		default:
			return Problemf("", "is not valid Unicode: %s: %s is half of a surrogate pair",
				placeAfter(data[:at+1]), data[at:at+unitBytes])
		}
	}
}

// unitBytes is the length of an escape such as \u00fc.
const unitBytes = 6

// escapedUnit reads the escape of a unit of UTF-16 that text may begin with.
func escapedUnit(text []byte) (unit rune, ok bool) {
	if len(text) < unitBytes || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:unitBytes]), 16, 16)
	return rune(n), err == nil
}

// checkStructure looks for nesting beyond maxDepth and for duplicate keys in data, which is valid JSON.
func checkStructure(data []byte, maxDepth int) *Problem {
	text := NewScanner(data)
	var open containers
	for {
		switch text.Peek() {
		case '{', '[':
			open = append(open, container{isList: text.Peek() == '[', index: -1})
			if len(open) > maxDepth {
				return TooDeep(maxDepth)
			}
			text.Bracket()
		case '}', ']':
			open = open[:len(open)-1]
			text.Bracket()
		default:
			text.Scalar()
		}
		if len(open) == 0 {
			return nil
		}
		if err := open.next(text); err != nil {
			return err
		}
	}
}

// container is an object or list that is being read.
type container struct {
	isList bool
	// index is that of the element that is being read, key its key in an object.
	index int
	key   string
	// few are the keys so far, many all of them once there are many.
	few  []string
	many map[string]struct{}
}

// manyKeys is from how many keys of an object on a map finds one sooner.
const manyKeys = 16

// add adds a key, and reports whether it was there.
func (c *container) add(key string) (again bool) {
	c.key = key
	if c.many != nil {
		_, again = c.many[key]
		c.many[key] = struct{}{}
		return again
	}
	if slices.Contains(c.few, key) {
		return true
	}
	if c.few = append(c.few, key); len(c.few) == manyKeys {
		c.many = make(map[string]struct{}, 2*manyKeys)
		for _, k := range c.few {
			c.many[k] = struct{}{}
		}
	}
	return false
}

// containers are those around the place that is being read, outermost first.
type containers []container

// next moves the innermost container to its next value, if it has one.
func (c containers) next(text *Scanner) *Problem {
	inner := &c[len(c)-1]
	switch {
	case !text.More():
	case inner.isList:
		inner.index++
	case inner.add(text.Key()):
		return Problemf(c.trail().String(), "stands twice: use each key once")
	}
	return nil
}

func (c containers) trail() Trail {
	way := make(Trail, len(c))
	for i := range c {
		way[i].Index = c[i].index
		if !c[i].isList {
			way[i].Key = &c[i].key
		}
	}
	return way
}
