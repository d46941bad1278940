package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Every process of the cluster, the containers' too, is in a control group below one of the cluster's name: however a run
// ended, its processes are found by that.

// services is the group of the processes that are not containers.
const services = "services"

// hierarchies are where control groups are mounted: one place in version 2, one for each controller in version 1.
func hierarchies() ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var mounts []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		kind := slices.Index(fields, "-") + 1
		if kind < len(fields) && (fields[kind] == "cgroup" || fields[kind] == "cgroup2") {
			mounts = append(mounts, fields[4])
		}
	}
	if len(mounts) == 0 {
		return nil, errors.New("no control groups are mounted")
	}
	return mounts, nil
}

// createGroups makes the cluster's control groups and returns the command through which a process joins them.
func (s *settings) createGroups() ([]string, error) {
	mounts, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var join strings.Builder
	for _, mount := range mounts {
		group := filepath.Join(mount, s.Name)
		if err := os.MkdirAll(filepath.Join(group, services), 0o755); err != nil {
			return nil, err
		}
		if err := inheritCPUs(mount, group, filepath.Join(group, services)); err != nil {
			return nil, err
		}
		join.WriteString("echo $$ > " + filepath.Join(group, services, "cgroup.procs") + "; ")
	}
	return []string{"sh", "-ec", join.String() + `exec "$@"`, "sh"}, nil
}

// inheritCPUs gives new groups the processors and memory nodes of their parent; in version 1 they start with none.
func inheritCPUs(parent string, groups ...string) error {
	for _, group := range groups {
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			text, err := os.ReadFile(filepath.Join(parent, file))
			if errors.Is(err, fs.ErrNotExist) || len(strings.TrimSpace(string(text))) == 0 {
				continue
			}
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(group, file), text, 0o644); err != nil {
				return err
			}
		}
		parent = group
	}
	return nil
}

// groups are all control groups of the cluster, inner ones first.
func (s *settings) groups() ([]string, error) {
	mounts, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, mount := range mounts {
		err := filepath.WalkDir(filepath.Join(mount, s.Name), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				found = append(found, path)
			}
			return nil // groups come and go
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found, nil
}

// members are the processes of the cluster.
func (s *settings) members() ([]int, error) {
	groups, err := s.groups()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, group := range groups {
		text, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids, nil
}

// endMembers ends every process of the cluster. It goes on until none is left: one may have started another meanwhile.
func (s *settings) endMembers(ctx context.Context) error {
	return await(ctx, func(context.Context) error {
		pids, err := s.members()
		if err != nil {
			return final{err}
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
		}
		if len(pids) > 0 {
			return fmt.Errorf("processes %v do not end", pids)
		}
		return nil
	})
}

// removeGroups removes the cluster's control groups, which must be empty.
func (s *settings) removeGroups(ctx context.Context) error {
	return await(ctx, func(context.Context) error {
		groups, err := s.groups()
		if err != nil {
			return final{err}
		}
		for _, group := range groups {
			if err := syscall.Rmdir(group); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("removing %s: %w", group, err) // the kernel takes a moment to forget processes
			}
		}
		return nil
	})
}
