package systemtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// libraries are the packages that other people's programs import, with everything they export.
var libraries = []string{"client", "schedule", "specproc", "specproc/prose", "worker", "worker/builtin", "worker/workertest"}

// calledByOthers are methods that code outside this module calls: of interfaces of the standard library and of our
// dependencies.
var calledByOthers = strings.Fields(`
	As Close DecodeMsgpack EncodeMsgpack Error Format GoString InProcessConn Is Len Less LogValue MarshalJSON MarshalText Read ReadAt Seek
	ServeHTTP String Swap UnmarshalJSON UnmarshalText Unwrap Write WriteAt`)

// unusedForAReason are exported names that no other package uses.
var unusedForAReason = map[string]string{
	"backfiller.Decide":      "docs/architecture.md sends readers to the decision of each pool",
	"generator.HandOffLimit": "Decide is exported, and this is its bound",
	"internal/simulation":    "nothing but its own tests runs it; they call what is exported",
	"internal/cli":           "the exit codes are its contract with scripts",
}

// TestExportedIsUsed: another package uses what a package exports. A test in package X_test is another package too. Names are
// compared, not types: a method counts as used wherever another package selects its name.
func TestExportedIsUsed(t *testing.T) {
	t.Parallel()
	files := parseModule(t)
	exports := map[string]*exported{}
	interfaces, selected, methods := map[string]bool{}, map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, file := range files {
		file.usesInto(exports, selected)
		file.methodsInto(methods)
		file.interfacesInto(interfaces)
		if !file.test && !slices.Contains(libraries, file.dir) && file.syntax.Name.Name != "main" {
			exportsOf(exports, file.dir).declare(file)
		}
	}
	for _, name := range calledByOthers {
		interfaces[name] = true
	}
	seen := 0
	for dir, e := range exports {
		e.implemented(dir, methods)
		e.reach()
		for name, where := range e.declared {
			seen++
			if unusedForAReason[dir] != "" || unusedForAReason[dir+"."+name] != "" {
				assert.False(t, unusedForAReason[dir] == "" && e.used[name], "%s: %s needs no exception", where, name)
				continue
			}
			kind, method, isMethod := strings.Cut(name, ".")
			switch {
			case !isMethod:
				assert.True(t, e.used[name], "%s: no other package uses %s", where, name)
			case e.used[kind] && !interfaces[method]:
				assert.True(t, elsewhere(selected[method], dir), "%s: no other package calls %s", where, name)
			}
		}
	}
	assert.Greater(t, seen, 1000)
}

func elsewhere(dirs map[string]bool, own string) bool {
	return len(dirs) > 1 || len(dirs) == 1 && !dirs[own]
}

// exported is what one package exports, with the place of each name, and which of it is used.
type exported struct {
	declared   map[string]string // names, and TYPE.METHOD
	mentions   map[string][]string
	interfaces map[string][]string // with their methods
	used       map[string]bool
}

func exportsOf(all map[string]*exported, dir string) *exported {
	if all[dir] == nil {
		all[dir] = &exported{map[string]string{}, map[string][]string{}, map[string][]string{}, map[string]bool{}}
	}
	return all[dir]
}

// declare adds the declarations of a file. A declaration mentions the names that its users can see.
func (e *exported) declare(file moduleFile) {
	for _, decl := range file.syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name := decl.Name.Name
			if decl.Recv != nil {
				name = receiver(decl) + "." + name
			}
			e.add(file, name, decl.Name, decl.Type)
		case *ast.GenDecl:
			e.declareAll(file, decl)
		}
	}
}

func (e *exported) declareAll(file moduleFile, decl *ast.GenDecl) {
	kind, together := "", []string(nil) // constants of one declaration belong together, with their type
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			e.add(file, spec.Name.Name, spec.Name, spec.Type)
			if of, ok := spec.Type.(*ast.InterfaceType); ok {
				e.interfaces[spec.Name.Name] = methodsOf(of)
			}
		case *ast.ValueSpec:
			if of, ok := spec.Type.(*ast.Ident); ok {
				kind = of.Name
			}
			for i, name := range spec.Names {
				e.add(file, name.Name, name, spec.Type)
				if decl.Tok == token.CONST {
					together = append(together, name.Name)
				} else if i < len(spec.Values) {
					e.mentions[name.Name] = append(e.mentions[name.Name], maker(spec.Values[i]))
				}
			}
		}
	}
	for _, name := range append(together, kind) {
		e.mentions[name] = append(e.mentions[name], together...)
	}
}

// maker returns the name of the function whose result initializes a variable, and so gives its type.
func maker(value ast.Expr) string {
	if call, ok := value.(*ast.CallExpr); ok {
		if function, ok := call.Fun.(*ast.Ident); ok {
			return function.Name
		}
	}
	return ""
}

func methodsOf(of *ast.InterfaceType) []string {
	var names []string
	for _, method := range of.Methods.List {
		for _, name := range method.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// implemented marks interfaces whose methods another package has: it need not name them.
func (e *exported) implemented(dir string, methods map[string]map[string]bool) {
	for name, of := range e.interfaces {
		if !slices.ContainsFunc(of, func(method string) bool { return !elsewhere(methods[method], dir) }) {
			e.used[name] = e.used[name] || len(of) > 0
		}
	}
}

func (e *exported) add(file moduleFile, name string, at *ast.Ident, seen ast.Expr) {
	kind, method, isMethod := strings.Cut(name, ".")
	if ast.IsExported(kind) && (!isMethod || ast.IsExported(method)) {
		e.declared[name] = file.at(at)
	}
	if isMethod {
		name = kind // users of the type have its methods
	}
	if seen == nil {
		return
	}
	ast.Inspect(seen, func(node ast.Node) bool {
		if ident, ok := node.(*ast.Ident); ok {
			e.mentions[name] = append(e.mentions[name], ident.Name)
		}
		return true
	})
}

// reach adds what the declarations of used names mention.
func (e *exported) reach() {
	for open := slices.Collect(maps.Keys(e.used)); len(open) > 0; {
		name := open[len(open)-1]
		open = open[:len(open)-1]
		for _, mentioned := range e.mentions[name] {
			if !e.used[mentioned] {
				e.used[mentioned] = true
				open = append(open, mentioned)
			}
		}
	}
}

// receiver returns the name of the type of a method.
func receiver(decl *ast.FuncDecl) string {
	kind := decl.Recv.List[0].Type
	for {
		switch of := kind.(type) {
		case *ast.StarExpr:
			kind = of.X
		case *ast.IndexExpr:
			kind = of.X
		case *ast.IndexListExpr:
			kind = of.X
		case *ast.Ident:
			return of.Name
		default:
			return ""
		}
	}
}

// moduleFile is one file of the module.
type moduleFile struct {
	set    *token.FileSet
	dir    string // below the module
	pkg    string // the same, with _test for tests in a package of their own
	test   bool
	syntax *ast.File
}

func (f moduleFile) at(node ast.Node) string {
	at := f.set.Position(node.Pos())
	return path.Join(f.dir, filepath.Base(at.Filename)) + ":" + strconv.Itoa(at.Line)
}

func (f moduleFile) lineOf(pos token.Pos) int { return f.set.Position(pos).Line }

// usesInto adds what the file uses of other packages of the module, and which names it selects from values.
func (f moduleFile) usesInto(exports map[string]*exported, selected map[string]map[string]bool) {
	imported := map[string]string{}
	for _, spec := range f.syntax.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		if dir, ours := strings.CutPrefix(name, module); ours && dir != f.pkg {
			name = path.Base(dir)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			imported[name] = dir
		}
	}
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		name := selector.Sel.Name
		if selected[name] == nil {
			selected[name] = map[string]bool{}
		}
		selected[name][f.pkg] = true
		if of, ok := selector.X.(*ast.Ident); ok && imported[of.Name] != "" {
			exportsOf(exports, imported[of.Name]).used[name] = true
		}
		return true
	})
}

// methodsInto adds the methods that the file declares.
func (f moduleFile) methodsInto(methods map[string]map[string]bool) {
	for _, decl := range f.syntax.Decls {
		if method, ok := decl.(*ast.FuncDecl); ok && method.Recv != nil {
			if methods[method.Name.Name] == nil {
				methods[method.Name.Name] = map[string]bool{}
			}
			methods[method.Name.Name][f.dir] = true
		}
	}
}

// interfacesInto adds the methods of the interfaces of the file.
func (f moduleFile) interfacesInto(methods map[string]bool) {
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		if of, ok := node.(*ast.InterfaceType); ok {
			for _, name := range methodsOf(of) {
				methods[name] = true
			}
		}
		return true
	})
}

// parseModule reads all Go files of the module.
func parseModule(t *testing.T) []moduleFile {
	t.Helper()
	root, set := filepath.Join("..", ".."), token.NewFileSet()
	var files []moduleFile
	require.NoError(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && isOther(name):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		syntax, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(name))
		file := moduleFile{set: set, dir: filepath.ToSlash(dir), test: strings.HasSuffix(name, "_test.go"), syntax: syntax}
		file.pkg = file.dir
		if strings.HasSuffix(syntax.Name.Name, "_test") {
			file.pkg += "_test"
		}
		files = append(files, file)
		return err
	}))
	return files
}

// isOther reports whether a folder does not belong to this module.
func isOther(dir string) bool {
	base := filepath.Base(dir)
	inner, _ := filepath.Glob(filepath.Join(dir, "go.mod"))
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || len(inner) > 0
}
