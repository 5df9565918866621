package loader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// Powers lists the files and folders that give power over an Evaluator with these options and that configuration: the
// rules, the secrets, and the programs that it executes. It includes missing ones that codemode would read if they
// existed. Every check of powers uses this list.
func Powers(o Options, cfg *config.Config) ([]Place, error) {
	var places []Place
	add := func(path, what string) {
		if path != "" {
			places = append(places, Place{Path: path, What: what})
		}
	}
	tree := func(path, what string) {
		if path != "" {
			places = append(places, Place{Path: path, What: what, Tree: true})
		}
	}
	add(o.Files.Managed, "the managed configuration")
	add(o.Files.User, "the user's configuration")
	add(o.Files.Project, "the project's configuration")
	add(o.Files.Overlays, "the file of overlays")
	add(o.Files.Trust, "the list of trusted project files")
	tree(o.StateDir, "the state of codemode")
	tree(o.RecordDir, "the folder of the record")
	tree(o.CacheDir, "the cache of compiled code")
	if self, err := os.Executable(); err == nil {
		add(self, "the program codemode itself")
	}
	for _, path := range slices.Sorted(maps.Keys(o.Protected)) {
		tree(path, o.Protected[path])
	}
	if cfg == nil {
		return places, nil
	}
	for _, f := range cfg.Files {
		if f.Standing == config.Environment {
			continue // the file name is the name of a variable
		}
		if filepath.IsAbs(f.File) || exists(f.File) { // else it is only a name for messages
			add(f.File, "the "+f.Standing.String())
		}
	}
	if cfg.Scripts != nil {
		tree(beside(cfg.Scripts.Pos.File, cfg.Scripts.Root), "the folder of the saved programs")
	}
	// The keys of clients are not needed here, and their variables may have no value yet.
	if h, _ := cfg.HTTP(nil); h.TLS != nil {
		add(h.TLS.Certificate, "the certificate of the address for clients")
		add(h.TLS.Key, "the key of that certificate")
	}
	for _, path := range cfg.SecretFiles {
		add(path, "a file with a secret of the configuration, or a program that prints one")
	}
	// Other commands are found through PATH.
	if r := cfg.Responder; r != nil && len(r.Command) > 0 && filepath.Base(r.Command[0]) != r.Command[0] {
		name := r.Command[0]
		add(name, "the program that opens a terminal for answers")
	}
	recorded, err := recordPlaces(o, cfg)
	if err != nil {
		return nil, err
	}
	return slices.Concat(places, recorded, started(o, cfg)), nil
}

// recordPlaces lists the files of the record.
func recordPlaces(o Options, cfg *config.Config) ([]Place, error) {
	folder := cmp.Or(o.RecordDir, o.StateDir)
	record, err := recorder.PlaceOf(folder, cfg, o.Env)
	if err != nil {
		return nil, err
	}
	var places []Place
	kept := func(path, what string) {
		if path != "" && (folder != "" || filepath.IsAbs(path)) { // else there is no record
			places = append(places, Place{Path: path, What: what})
		}
	}
	for _, more := range []string{"", "-wal", "-shm", "-journal"} {
		if record.Store.Path != "" {
			kept(record.Store.Path+more, "the database of the record")
		}
	}
	kept(record.Key, "the key of the record")
	kept(record.Checkpoints, "the checkpoints of the record")
	if record.Store.URL != "" {
		places = append(places, passwords(o.Env)...)
	}
	return places, nil
}

// started lists the files that are read or executed when the servers start.
func started(o Options, cfg *config.Config) []Place {
	env := o.Env
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	var places []Place
	searched := map[string]bool{}
	search := func(folders []string) {
		for _, folder := range folders {
			if filepath.IsAbs(folder) && !searched[folder] {
				searched[folder] = true
				const what = "a folder of PATH, where the programs of servers are looked up"
				places = append(places, Place{Path: folder, What: what, Searched: true})
			}
		}
	}
	for _, entry := range cfg.Servers {
		connection, err := entry.Connection(env)
		if err != nil {
			continue // the configuration is refused for this
		}
		s := upstream.Server{Server: connection}
		for _, path := range s.Files(env) {
			what := fmt.Sprintf("a file that starts the server %q", s.Name)
			p := Place{Path: path, What: what, Server: s.Name, Searched: true}
			if path == s.EnvFile {
				p = Place{Path: path, What: fmt.Sprintf("the file of variables of the server %q", s.Name)}
			}
			places = append(places, p)
		}
		search(s.SearchPath(env))
		if s.OwnProcess() && s.Dir != "" { // git reads .git/config there, npx reads node_modules, others .env
			what := fmt.Sprintf("the working folder of the server %q", s.Name)
			places = append(places, Place{Path: s.Dir, What: what, Server: s.Name, Searched: true})
		}
	}
	return places
}

// passwords lists the files where PostgreSQL's libraries look for passwords and for the addresses of databases.
func passwords(env func(string) (string, bool)) []Place {
	var places []Place
	for _, f := range []struct{ variable, usual, what string }{
		{"PGPASSFILE", ".pgpass", "the passwords of PostgreSQL databases"},
		{"PGSERVICEFILE", ".pg_service.conf", "the places of PostgreSQL databases"},
	} {
		path := ""
		if env != nil {
			path, _ = env(f.variable)
		}
		if home, err := os.UserHomeDir(); path == "" && err == nil {
			path = filepath.Join(home, f.usual)
		}
		if path != "" {
			places = append(places, Place{Path: path, What: f.what})
		}
	}
	return places
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// judgeRoot refuses a root of the built-in filesystem through which programs could reach a power, and one that it
// cannot examine.
func (o *Options) judgeRoot(root string, cfg *config.Config) error {
	marks, err := o.marks(cfg)
	if err == nil {
		err = marks.Judge(root)
	}
	if err == nil {
		return nil
	}
	if power, ok := errors.AsType[*PowerError](err); ok {
		err = fmt.Errorf("%w; a program that may write there could change what it may do: "+
			"give programs a folder of their own%s", power, hintFor(power))
	}
	return fmt.Errorf("the root of the built-in filesystem is refused: %w", err)
}

// hintFor suggests a way out for some places.
func hintFor(p *PowerError) string {
	if p.What == ProjectPlace {
		return `, or start codemode with "--project none", or elsewhere`
	}
	return ""
}

// ProjectPlace describes, in [Options.Protected], a project's file that codemode would read if it existed.
const ProjectPlace = "where a project's configuration is looked up"

func (o *Options) marks(cfg *config.Config) (*Marks, error) {
	places, err := Powers(*o, cfg)
	if err != nil {
		return nil, err
	}
	return MarksOf(places)
}

// guard makes the check for the files that the built-in filesystem opens, by the current powers: somebody may have
// made, linked or mounted a power below the root since judgeRoot.
func (o *Options) guard() (func(fs.FileInfo) error, error) {
	marks, err := o.marks(o.Rules.Config())
	if err != nil {
		o.Log.Error("the built-in filesystem is closed: codemode cannot find out which files give power over it",
			"error", err.Error())
		return nil, errors.New("the files are closed to programs: codemode cannot tell which of them give power over it; " +
			"a person finds more in its log")
	}
	return func(info fs.FileInfo) error {
		f, ok := marks.Find(info)
		if !ok {
			return nil
		}
		o.Log.Error("a program was denied a file below the root of the built-in filesystem, because the file controls codemode",
			"file", info.Name(), "what", f.What, "at", f.Path, "how", f.Relation)
		return fmt.Errorf("it leads to %s, which no program may touch", f.What)
	}, nil
}
