// What every verb shares: response files, spellings of C compilers turned into long options, the options of a compile, and how
// diagnostics and exit statuses leave the process. Verbs stand in files of their own; main.cpp picks one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "policy/environment.h"

namespace sarek::tool {

/// Exit statuses (cli.md): the input has errors; the command line is wrong; a file, tool or device is at fault; a fault of the compiler.
inline constexpr int kDone = 0;
inline constexpr int kInputErrors = 1;
inline constexpr int kUsage = 2;
inline constexpr int kEnvironment = 3;
inline constexpr int kCompilerFault = 70;

/// argv without the program's name, with @FILE replaced by the words of the file (quotes group) and -MD, -MF, -MT, -M turned into long
/// options. Errors: a response file that cannot be read or that includes itself.
Result<std::vector<std::string>> expand_arguments(int argc, char** argv);

/// The options of a compile, bound to an app.
struct CompileOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> targets;
  std::vector<std::string> include_dirs;
  std::vector<std::string> defines;
  std::vector<std::string> warnings;
  std::string opt_level = "2";
  std::string policy_file;
  std::vector<std::string> policy_sources;
  bool no_policy = false;
  bool debug_info = false;
  bool checked = false;
  std::string diagnostics = "text";
  std::string color = "auto";

  void add_to(CLI::App& app, bool with_targets);
  /// The request for one input ("-" is standard input). Errors are of the command line or of the file.
  Result<driver::Request> request(const std::string& input) const;
};

/// What the environment restricts. Items that name nothing are warned about on standard error, once a process.
policy::Environment policy_environment();

/// Parses `words` with `app`. `status` is set when the caller should leave at once (help shown, or the command line is wrong).
bool parse(CLI::App& app, std::vector<std::string> words, int& status);

/// False when the first of `words` is neither an option nor one of the app's subcommands.
bool knows_subcommand(CLI::App& app, const std::vector<std::string>& words);

/// Shows the diagnostics of compilations on standard error as --diagnostics and --color ask. As JSON, those of all inputs are one list,
/// which ends when this does.
class DiagnosticOutput {
 public:
  explicit DiagnosticOutput(const CompileOptions& options) : options_(options) {}
  DiagnosticOutput(const DiagnosticOutput&) = delete;
  DiagnosticOutput& operator=(const DiagnosticOutput&) = delete;
  ~DiagnosticOutput();
  void show(const driver::Compilation& compilation);

 private:
  const CompileOptions& options_;
  bool opened_ = false;
  bool any_ = false;
};

/// The exit status of a compilation that reported what it did.
int exit_status(const driver::Compilation& compilation);

/// "sarekc: error: ..." on standard error; returns `status`.
int complain(int status, const std::string& message);

/// `name` with its last extension replaced; "-" becomes "out".
std::string with_extension(const std::string& name, const std::string& extension);

// The verbs. `words` are the arguments after the verb.
int compile_verb(std::vector<std::string> words);
int check_verb(std::vector<std::string> words);
int run_verb(std::vector<std::string> words);
int test_verb(std::vector<std::string> words);
int fmt_verb(std::vector<std::string> words);
int devices_verb(std::vector<std::string> words);
int explain_verb(std::vector<std::string> words);
int policy_verb(std::vector<std::string> words);

}  // namespace sarek::tool
