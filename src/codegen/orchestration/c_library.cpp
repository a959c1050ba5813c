#include <fmt/format.h>

#include <string_view>

#include "codegen/orchestration/cpp_names.h"

// Functions, variables and types that C library headers may declare when generated code includes them. A
// namespace cannot have any of these names. tests/run/generated_names.py checks all names that it finds in
// these headers.

namespace kdl::codegen {

namespace {

constexpr std::string_view kNames =
    " "
    "a64l abort abs access acct acos acosh alarm aligned_alloc arc4random arc4random_buf "
    "arc4random_uniform asctime asin asinh asprintf at_quick_exit atan atan2 atanh atexit atof "
    "atoi atol basename bcmp bcopy brk bsearch btowc bzero calloc canonicalize "
    "canonicalize_file_name cbrt ceil chdir chown chroot clearenv clearerr clock clone close "
    "close_range closefrom confstr copy_file_range copysign cos cosh crypt ctermid ctime cuserid "
    "daddl daemon daylight ddivl dfmal difftime div dmull dprintf drand48 drand48_data drem "
    "dsqrtl dsubl dup dup2 dup3 duplocale dysize eaccess ecvt endusershell environ erand48 erf "
    "erfc euidaccess execl execle execlp execv execve execveat execvp execvpe exit exp exp10 "
    "exp2 explicit_bzero expm1 f32add f32div f32fma f32mul f32sqrt f32sub f32xadd f32xdiv "
    "f32xfma f32xmul f32xsqrt f32xsub f64add f64div f64fma f64mul f64sqrt f64sub f64xadd f64xdiv "
    "f64xfma f64xmul f64xsqrt f64xsub fabs faccessat fadd fchdir fchown fchownat fclose "
    "fcloseall fcvt fd_mask fd_set fdatasync fdim fdiv fdopen feof ferror fexecve fflush ffma "
    "ffs fgetc fgetpos fgets fgetwc fgetws fileno finite flockfile floor fma fmax fmaximum "
    "fmaximum_mag fmaximum_mag_num fmaximum_num fmaxmag fmemopen fmin fminimum fminimum_mag "
    "fminimum_mag_num fminimum_num fminmag fmod fmul fopen fopencookie fork fpathconf fprintf "
    "fputc fputs fputwc fputws fread free freelocale freopen frexp fromfp fromfpx fscanf fseek "
    "fseeko fsetpos fsqrt fsub fsync ftell ftello ftruncate ftrylockfile funlockfile fwide "
    "fwprintf fwrite fwscanf gamma gcvt get_current_dir_name getc getchar getcpu getcwd getdate "
    "getdate_err getdelim getdomainname getdtablesize getegid getentropy getenv geteuid getgid "
    "getgroups gethostid gethostname getline getloadavg getlogin getopt getpagesize getpass "
    "getpayload getpgid getpgrp getpid getppid getpt getresgid getresuid getsid getsubopt gettid "
    "getuid getusershell getw getwc getwchar getwd gmtime grantpt group_member hypot ilogb index "
    "initstate isalnum isalpha isascii isatty isblank iscanonical iscntrl isctype isdigit "
    "iseqsig isgraph isinff isinfl islower isnanf isnanl isprint ispunct issignaling isspace "
    "isupper iswalnum iswalpha iswblank iswcntrl iswctype iswdigit iswgraph iswlower iswprint "
    "iswpunct iswspace iswupper iswxdigit isxdigit iszero itimerspec j0 j1 jn jrand48 l64a labs "
    "lchown lcong48 lconv ldexp ldiv lgamma link linkat llabs lldiv llogb llrint llround "
    "localeconv localtime lockf log log10 log1p log2 logb lrand48 lrint lround lseek malloc "
    "mblen mbrlen mbrtowc mbsinit mbsnrtowcs mbsrtowcs mbstowcs mbtowc memccpy memchr memcmp "
    "memcpy memfrob memmem memmove mempcpy memrchr memset mkdtemp mkostemp mkostemps mkstemp "
    "mkstemps mktemp mktime modf mrand48 nan nanosleep nearbyint newlocale nextafter nextdown "
    "nexttoward nextup nice nrand48 obstack obstack_printf obstack_vprintf on_exit "
    "open_memstream open_wmemstream optarg opterr optind optopt pathconf pause pclose perror "
    "pipe pipe2 popen pow pread printf profil program_invocation_name "
    "program_invocation_short_name pselect ptsname putc putchar putenv puts putw putwc putwchar "
    "pwrite qecvt qfcvt qgcvt qsort quick_exit rand random random_data rawmemchr read readlink "
    "readlinkat realloc reallocarray realpath remainder remove remquo rename renameat renameat2 "
    "revoke rewind rindex rint rmdir round roundeven rpmatch sbrk scalb scalbln scalbn scanf "
    "secure_getenv seed48 select setbuf setbuffer setdomainname setegid setenv seteuid setgid "
    "sethostid sethostname setlinebuf setlocale setlogin setns setpayload setpayloadsig setpgid "
    "setpgrp setregid setresgid setresuid setreuid setsid setstate setuid setusershell setvbuf "
    "sigabbrev_np sigdescr_np sigevent signgam significand sin sincos sinh sleep snprintf "
    "sprintf sqrt srand srand48 srandom sscanf stpcpy stpncpy strcasecmp strcasestr strcat "
    "strchr strchrnul strcmp strcoll strcpy strcspn strdup strerror strerrordesc_np "
    "strerrorname_np strfromd strfromf strfromf128 strfromf32 strfromf32x strfromf64x strfroml "
    "strfry strftime strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strptime "
    "strrchr strsep strsignal strspn strstr strtod strtof strtof128 strtof32 strtof32x strtof64x "
    "strtok strtol strtold strtoq strtoul strtouq strverscmp strxfrm swab swprintf swscanf "
    "symlink symlinkat sync syncfs syscall sysconf system tan tanh tcgetpgrp tcsetpgrp tempnam "
    "tgamma time timegm timelocal timespec timespec_get timespec_getres timeval timex timezone "
    "tm tmpfile tmpnam toascii tolower totalorder totalordermag toupper towctrans towlower "
    "towupper trunc truncate ttyname ttyslot tzname tzset u_char u_int u_long u_short ualarm "
    "ufromfp ufromfpx uint ulong ungetc ungetwc unlink unlinkat unlockpt unsetenv unshare "
    "uselocale ushort usleep va_list valloc vasprintf vdprintf vfork vfprintf vfscanf vfwprintf "
    "vfwscanf vhangup vprintf vscanf vsnprintf vsprintf vsscanf vswprintf vswscanf vwprintf "
    "vwscanf wcpcpy wcpncpy wcrtomb wcscasecmp wcscat wcschr wcschrnul wcscmp wcscoll wcscpy "
    "wcscspn wcsdup wcsftime wcslen wcsncasecmp wcsncat wcsncmp wcsncpy wcsnlen wcsnrtombs "
    "wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod wcstof wcstof128 wcstof32 wcstof32x "
    "wcstof64x wcstok wcstol wcstold wcstombs wcstoq wcstoul wcstouq wcswcs wcswidth wcsxfrm "
    "wctob wctomb wctrans wctype wcwidth wmemchr wmemcmp wmemcpy wmemmove wmempcpy wmemset "
    "wprintf write wscanf y0 y1 yn ";

// Suffixes of functions that are variants of other functions, for example `expf` and `expf64x` (for types
// other than `double`), `qsort_r`, `toupper_l`, `getc_unlocked` and `lseek64`.
constexpr std::string_view kSuffixes[] = {"f128", "f32x",      "f64x", "f32", "f64", "_r",
                                          "_l",   "_unlocked", "64",   "f",   "l"};

constexpr std::string_view kPrefixes[] = {"clock_", "posix_", "pthread_", "sched_", "timer_"};

}  // namespace

bool IsOfCLibrary(std::string_view name) {
  if (name.ends_with("_t") || kNames.find(fmt::format(" {} ", name)) != std::string_view::npos)
    return true;
  for (std::string_view prefix : kPrefixes)
    if (name.starts_with(prefix)) return true;
  for (std::string_view suffix : kSuffixes) {
    if (name.size() > suffix.size() && name.ends_with(suffix) &&
        IsOfCLibrary(name.substr(0, name.size() - suffix.size())))
      return true;
  }
  return false;
}

}  // namespace kdl::codegen
