/* Wine before 9 has no bcryptprimitives.dll, from whose only function Rust's standard library takes random bytes. This
   file implements that function with the one that older programs call, for tests under Wine only: Windows has had its
   own since version 7. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG n);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T n)
{
    return SystemFunction036(bytes, (ULONG)n);
}
